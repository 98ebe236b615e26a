"""The columns of results, whoever computed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from muntin import ModuleContractError, Window
from muntin.columnar.arrays import IntArray
from muntin.safe_text import safe_repr
from muntin.schemas import Field
from muntin_engine.core.keys import Key
from muntin_engine.exchange.arrays import MisfitError, first_misfit, to_arrow
from muntin_engine.exchange.task_payload import TaskPayload

Ticks: TypeAlias = IntArray | Sequence[int | None] | pa.Array


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of results, for an error to say.

    Attributes:
        task: The query.
        label: The module, by name and version.
        at: Returns the key and the window of a result, by its place.
    """

    task: TaskPayload
    label: str
    at: Callable[[int], tuple[Key, Window]]

    def contract_error(self, found: str, place: int | None = None) -> ModuleContractError:
        """Return the error that says what a module computed instead of what it declares, and where if that is known."""
        where = ""
        if place is not None:
            key, window = self.at(place)
            spelled = self.task.query.axis.spell_interval(window.start, window.end)
            where = f"  key: {safe_repr(key)}\n  window: {spelled}\n"
        return ModuleContractError(
            f"{self.label} returned a value that is not what it declares: {found}\n{where}"
            "  return what the class declares in its brackets, or declare what it returns"
        )

    def column(self, values: Sequence[object], output: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return results as a column.

        Raises:
            ModuleContractError: A value is not of the type that the module declares.
        """
        try:
            return to_arrow(values, output, arrow_type)
        except MisfitError as error:
            raise self.contract_error(str(error), first_misfit(values, output, arrow_type)) from error


def extents(task: TaskPayload, starts: Ticks, ends: Ticks) -> pa.Array:
    """Return windows or lifetimes as a struct column.

    Args:
        task: The query.
        starts: Ticks.
        ends: Ticks; null for one that never ends.
    """
    fields = [pa.field("start", task.time_type), pa.field("end", task.time_type)]
    return pa.StructArray.from_arrays([pa.array(ticks).cast(task.time_type) for ticks in (starts, ends)], fields=fields)


def result_table(task: TaskPayload, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return results as a table of the query's result schema.

    Args:
        task: The query.
        columns: By name, those that the schema has.
    """
    return pa.table([columns[name] for name in task.results.names], schema=task.results)
