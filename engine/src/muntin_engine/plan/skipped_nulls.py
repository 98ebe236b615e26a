"""The modules that skip a row for a null in a record: a warning names them where nobody sees metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muntin.schemas import Field, Struct
from muntin_engine.modules.skipping import forbids_null
from muntin_engine.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class SkippedNulls:
    """A module that skips a row if one of certain columns is null.

    Attributes:
        module: The name and the version of the module.
        columns: These columns, by their names in the query; at least one.
        fields: For each of these columns, the name of the field in the module's record.
    """

    module: str
    columns: tuple[str, ...]
    fields: tuple[str, ...]

    @property
    def condition(self) -> str:
        """The reason why a row is skipped, in words."""
        *first_columns, last_column = self.columns
        if not first_columns:
            return f"{last_column} is null"
        return f"{', '.join(first_columns)} or {last_column} is null"

    @property
    def remedies(self) -> str:
        """Two ways to go on: a module that reads nulls, or a query without them."""
        *first_fields, last_field = self.fields
        fields = f"{', '.join(first_fields)} and {last_field}" if first_fields else last_field
        present = " AND ".join(f"{column} IS NOT NULL" for column in self.columns)
        return (
            f"to get them it reads {fields} as '... | None'; "
            f"to leave them out for all, without a warning: .where('{present}')"
        )


def skipped_nulls(plan: Plan) -> dict[str, SkippedNulls]:
    """Return the modules that skip rows for a null in one field of a record, by their labels in metrics.

    A module that reads one value ignores nulls as an aggregate of SQL does, so it is not among them: nobody expects a
    warning. If a module skips a record, however, the other values of the row are lost as well.
    """
    skipped: dict[str, SkippedNulls] = {}
    for module in plan.modules:
        payload = plan.inputs[module.side].columns.payload
        columns: list[str] = []
        fields: list[str] = []
        for stream in module.streams:
            column_names = [payload[place].name for place in stream.columns]
            reads = list(zip(column_names, stream.reads, strict=True))
            for column, field_name in _parts_without_null(reads):
                columns.append(column)
                fields.append(field_name)
        if columns:
            skipped[module.metric_label] = SkippedNulls(module.label, tuple(columns), tuple(fields))
    return skipped


def _parts_without_null(reads: Sequence[tuple[str, Field]]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a record that may not be null: for each its column in the query, and its name in the module.

    Args:
        reads: The columns that a module reads of a stream, by their names in the query, each with the field of the
            module that it fills.
    """
    # Several columns are the fields of a record.
    if len(reads) > 1:
        for column, field in reads:
            if forbids_null(field):
                yield column, field.name
        return

    # A single struct column is the record itself. It may not be null either, unless the module reads it as nullable.
    # Nothing is yielded for a single column of another type, which is no record, or for a module without columns.
    for column, record in reads:
        if not isinstance(record.type, Struct):
            continue
        for part in record.type.fields:
            if forbids_null(part):
                yield f"{column}.{part.name}", part.name
        if not record.is_nullable:
            yield column, record.name
