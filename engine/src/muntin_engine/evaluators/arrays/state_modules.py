"""The modules of a query that keep Python states: rows to states, states to results, and states as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from muntin import Axis, Window
from muntin.axis import AnyAxis
from muntin.columnar.arrays import IntArray
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.changes import Key
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.errors import StateError
from muntin_engine.evaluators.arrays.coding import stable_order
from muntin_engine.evaluators.arrays.held import in_windows
from muntin_engine.evaluators.arrays.lifting import NO_KEYS, Rows, group_rows, key_rows, python_values
from muntin_engine.evaluators.arrays.states import ModuleCallError, StateModule, States
from muntin_engine.evaluators.arrays.stretch_table import STATE, Part, StretchTable
from muntin_engine.evaluators.arrays.wire import to_blob
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.exchange.counting import numbers_at
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import SchemaVersion, is_outdated
from muntin_engine.state.unstorable import find_unstorable, unstorable
from muntin_engine.state.value_columns import ValueColumn

At: TypeAlias = Callable[[int], tuple[Key, Window]]
"""Returns the key and the window of one of many calls, by its place."""


class StateModules:
    """The modules of a query that keep Python states.

    Cost: for each module, `create_state` and `add_events` once for each state that rows are lifted to.

    Attributes:
        modules: The modules.
    """

    def __init__(
        self,
        bindings: Sequence[Binding],
        codec: Codec,
        axis: AnyAxis = Axis.TICKS,
        values_of: Callable[[pa.Array], list[Any]] = python_values,
    ) -> None:
        """Take the modules of a query.

        Args:
            bindings: The modules, which define `combine`; they see neither times nor windows.
            codec: Knows the records in which states come.
            axis: What ticks measure; only messages depend on it.
            values_of: Returns the values of an input column.
        """
        self.modules = tuple(map(StateModule, bindings))
        self._codec = codec
        self._axis = axis
        self._values_of = values_of

    def lift(self, inputs: Sequence[pa.Array], codes: IntArray, counts: IntArray, at: At) -> dict[Part, States]:
        """Return the states of rows by code, each with its rows added in one call.

        Args:
            inputs: The columns of the rows.
            codes: The code of each row.
            counts: How many rows each code has.
            at: Returns the key and the window of a code.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        order = pa.array(stable_order(codes, len(counts)))
        columns = [self._values_of(column.take(order)) for column in inputs]
        bounds = [0, *np.cumsum(counts).tolist()]
        parts: dict[Part, States] = {}
        with located(at):
            for place, module in enumerate(self.modules):
                RUNNING.many(module.label, at)
                payloads = module.payloads(columns, len(codes))
                states = module.add_groups(module.create_states(len(counts)), payloads, bounds)
                parts[Part(place, STATE)] = States.of(module, states, len(counts))
        return parts

    def results(self, windows: StretchTable, at: At) -> list[list[Any]]:
        """Return the results of each module; see `results_of`."""
        return results_of(self.modules, windows, at)

    def pack(self, parts: Mapping[Part, States], at: At, first: int = 0) -> list[bytes]:
        """Return the states of each module as bytes.

        Args:
            parts: The states.
            at: Returns the key and the window of a state.
            first: The place of the first state, as `at` counts them.

        Raises:
            StateError: A state is no plain data.
        """
        return [self._pack(module, parts[Part(place, STATE)], at, first) for place, module in enumerate(self.modules)]

    def unpack(self, packed: Sequence[bytes], count: int, version: SchemaVersion | None, at: At) -> dict[Part, States]:
        """Undo `pack`, and upgrade what an older schema version wrote; None of the present one.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        parts: dict[Part, States] = {}
        with located(at):
            for place, module in enumerate(self.modules):
                if version is None or not is_outdated(module.module, version.versions[place]):
                    states = self._codec.unpack(packed[place])
                else:
                    RUNNING.many(module.label, at)
                    states = self._codec.reading_fields().unpack(packed[place])
                    states = module.upgrade(states, version.versions[place])
                parts[Part(place, STATE)] = States.of(module, states, count)
        return parts

    def _pack(self, module: StateModule, values: States, at: At, first: int) -> bytes:
        states = values.objects.tolist()
        try:
            return self._codec.pack(ValueColumn(states))
        except StateError as error:
            found = find_unstorable(states, self._codec)
            if found is None:
                raise
            key, window = at(first + found[0])
            spelled = self._axis.spell_interval(window.start, window.end)
            raise unstorable(module.module, "a state", key, spelled, found[1]) from error


def results_of(modules: Sequence[StateModule], windows: StretchTable, at: At) -> list[list[Any]]:
    """Return the results of each module; of an operator, the list of rows of each window.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    found = []
    with located(at):
        for place, module in enumerate(modules):
            RUNNING.many(module.label, at)
            found.append(module.results(windows.parts[Part(place, STATE)].objects.tolist()))
    return found


@contextmanager
def located(at: At) -> Iterator[None]:
    """Let a failure, and a watchdog, tell of which stretch a call is, by its place.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    RUNNING.locate = at
    try:
        yield
    except ModuleCallError as failure:
        raise failure.located(*at(failure.place)) from failure.__cause__


class Keys(Protocol):
    """Keys by their codes."""

    def take(self, codes: IntArray) -> pa.Table:
        """Return the keys that have some codes."""
        ...


def whereabouts(keys: Keys, codes: IntArray, window: Callable[[int], Window]) -> At:
    """Return the function that returns the key and the window of a call.

    Args:
        keys: The keys by code.
        codes: The code of the key of each call.
        window: Returns the window of a call, by its place.
    """

    def at(place: int) -> tuple[Key, Window]:
        row = keys.take(codes[place : place + 1])
        key = tuple(row.column(name)[0].as_py() for name in row.column_names if name != NO_KEYS)
        return key, window(place)

    return at


def lift_states(modules: StateModules, grids: Sequence[SliceGrid], rows: Rows) -> Iterator[BucketBlob]:
    """Yield the states of a batch of rows for each bucket that has any; of rows in no window only their number.

    Cost: that of `StateModules`, and a few passes over the rows.

    Raises:
        ModuleFailedError: A module raised an exception; its window is the extent of the slice.
        StateError: A state cannot be stored.
    """
    slices = grids[0].slices_at(numbers_at(grids[0].periods, rows.starts))
    is_in = in_windows(grids, slices, slices)
    for are_lifted, some in ((True, rows if is_in.all() else rows.where(is_in)), (False, rows.where(~is_in))):
        if len(some):
            yield from _lifted(modules if are_lifted else None, grids[0], some)


def _lifted(modules: StateModules | None, grid: SliceGrid, rows: Rows) -> Iterator[BucketBlob]:
    groups = group_rows(grid, rows)
    counts, low = np.bincount(groups.codes, minlength=groups.size), groups.low
    keys = key_rows([key.take(pa.array(groups.first)) for key in rows.keys], len(groups.first))
    at = whereabouts(keys, groups.ends[groups.buckets] + groups.keys, lambda place: grid.extent(int(low[place])))
    parts: dict[Part, States] = {} if modules is None else modules.lift(rows.inputs, groups.codes, counts, at)
    batch = StretchTable(groups.keys, low, low, counts, parts)
    buckets, starts = np.unique(groups.buckets, return_index=True)
    for bucket, start, stop in zip(buckets, starts, [*starts[1:], groups.size], strict=True):
        some = batch.take(slice(start, stop))
        first, last = groups.ends[bucket : bucket + 2]
        packed = [] if modules is None else modules.pack(some.parts, at, int(start))
        bare = StretchTable(some.keys, some.low, some.low, some.weight, {})
        yield BucketBlob(int(bucket), to_blob(keys.slice(first, last - first), bare, packed))
