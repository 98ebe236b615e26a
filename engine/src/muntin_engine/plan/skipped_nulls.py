"""The modules that skip a row for a null in a record, of which a warning tells where nobody sees metrics."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.schemas import Struct
from muntin_engine.modules.skipping import forbids_null
from muntin_engine.plan.module_plan import StreamInput
from muntin_engine.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class SkippedNulls:
    """A module that skips rows with a null in one of some columns.

    Attributes:
        module: Its name and version.
        columns: The columns of the query, not empty.
        fields: The field of the module's record that each of them is.
    """

    module: str
    columns: tuple[str, ...]
    fields: tuple[str, ...]

    @property
    def condition(self) -> str:
        """The reason why a row is skipped, in words."""
        *others, last = self.columns
        return f"{', '.join(others)} or {last} is null" if others else f"{last} is null"

    @property
    def remedies(self) -> str:
        """Two ways to go on: a module that reads nulls, or a query without them."""
        *others, last = self.fields
        fields = f"{', '.join(others)} and {last}" if others else last
        present = " AND ".join(f"{column} IS NOT NULL" for column in self.columns)
        return (
            f"to get them it reads {fields} as '... | None'; "
            f"to leave them out for all, without a warning: .where('{present}')"
        )


def skipped_nulls(plan: Plan) -> dict[str, SkippedNulls]:
    """Return the modules that skip rows with a null in a record of several fields, by their labels.

    A module of one value leaves nulls out as an aggregate of SQL does, so nobody expects to be told. A record has
    other values that go with it, and a row of its own where it comes from an operator.
    """
    found: dict[str, SkippedNulls] = {}
    for module in plan.modules:
        payload = plan.inputs[module.side].columns.payload
        forbidding: list[tuple[str, str]] = []
        for given in module.inputs or (StreamInput("", (), module.columns, module.reads),):
            parts = [(payload[place].name, part) for place, part in zip(given.columns, given.reads, strict=True)]
            if len(parts) > 1:
                forbidding += [(column, part.name) for column, part in parts if forbids_null(part)]
            elif parts and isinstance(parts[0][1].type, Struct):
                column, whole = parts[0]
                fields = [part.name for part in parts[0][1].type.fields if forbids_null(part)]
                forbidding += [(f"{column}.{name}", name) for name in fields]
                forbidding += [] if whole.is_nullable else [(column, whole.name)]
        if forbidding:
            found[module.metric_label] = SkippedNulls(module.label, *zip(*forbidding, strict=True))
    return found
