"""The modules that skip a row for a null in a record: a warning names them where nobody sees metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muntin.schemas import Field, Struct
from muntin_engine.modules.skipping import forbids_null
from muntin_engine.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class SkippedNulls:
    """A module that skips rows with a null in one of some columns.

    Attributes:
        module: The name and the version of the module.
        columns: The columns of the query, not empty.
        fields: The field of the module's record that each column is.
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
    """Return the modules that skip rows with a null in a record of several fields, by their labels.

    A module of one value leaves nulls out as an aggregate of SQL does, so nobody expects a warning. With a record its
    other values are lost, too, and with an operator a row of the output.
    """
    skipped: dict[str, SkippedNulls] = {}
    for module in plan.modules:
        payload = plan.inputs[module.side].columns.payload
        columns: list[str] = []
        fields: list[str] = []
        for stream in module.streams:
            reads = [(payload[place].name, part) for place, part in zip(stream.columns, stream.reads, strict=True)]
            for column, part_name in _forbidding(reads):
                columns.append(column)
                fields.append(part_name)
        if columns:
            skipped[module.metric_label] = SkippedNulls(module.label, tuple(columns), tuple(fields))
    return skipped


def _forbidding(reads: Sequence[tuple[str, Field]]) -> Iterator[tuple[str, str]]:
    """Yield the columns, or fields of a struct column, that may not be null in a record, and what the module calls it.

    Args:
        reads: The columns that a module reads of a stream, each with its type there.
    """
    if len(reads) > 1:
        for column, part in reads:
            if forbids_null(part):
                yield column, part.name
    elif reads and isinstance(reads[0][1].type, Struct):
        column, record = reads[0]
        for part in reads[0][1].type.fields:
            if forbids_null(part):
                yield f"{column}.{part.name}", part.name
        if not record.is_nullable:
            yield column, record.name
