"""The results of modules that keep Python states as columns: a value per window, or the rows of an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import IntArray
from muntin.schemas import Field, Struct
from muntin_engine.core.changes import Key
from muntin_engine.exchange.arrays import Source
from muntin_engine.exchange.task_payload import TaskPayload


class ModuleResults:
    """Results as columns.

    Attributes:
        counts: How many rows an operator has for each window; None of aggregates, which have one.
    """

    def __init__(self, task: TaskPayload, values: Sequence[list[Any]], at: Callable[[int], tuple[Key, Window]]) -> None:
        """Take results.

        Args:
            task: The query.
            values: By module, its results; of an operator, the list of rows of each window.
            at: Returns the key and the window of a result.
        """
        self._task, self._values, self._at = task, values, at
        self._row: Field | None = None
        self.counts: IntArray | None = None
        if task.query.is_operator:
            self._row = task.query.bindings[0].module.result_field()
            counts = np.fromiter(map(len, values[0]), np.int64, len(values[0]))
            owners, _ = expanded(counts)
            self._values, self._at = [list(chain.from_iterable(values[0]))], lambda row: at(int(owners[row]))
            self.counts = counts

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return a result column: of an aggregate, or of a field of an operator's rows.

        Raises:
            ModuleContractError: A result is not of the type that the module's class declares.
        """
        module = self._task.query.bindings[0 if self._row is not None else place].module
        source = Source(self._task, f"{module.name} {module.version}", self._at)
        if self._row is None:
            return source.column(self._values[place], field, arrow_type)
        (rows,) = self._values
        parts = source.parts(rows, self._row.type, place) if isinstance(self._row.type, Struct) else rows
        return source.column(parts, field, arrow_type)


def expanded(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return, for each of some things in a row of groups, the place of its group and its place in that.

    Example:
        >>> owners, within = expanded(np.array([2, 0, 1]))
        >>> owners.tolist(), within.tolist()
        ([0, 0, 2], [0, 1, 0])
    """
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
