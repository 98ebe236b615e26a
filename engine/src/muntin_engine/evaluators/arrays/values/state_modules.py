"""The modules of a query that keep Python states: rows to states, states to results, and states as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import Axis, Window
from muntin.axis import AnyAxis
from muntin.columnar.arrays import IntArray
from muntin_engine.errors import StateError
from muntin_engine.evaluators.arrays.stretches.coding import few_members, stable_order
from muntin_engine.evaluators.arrays.stretches.component_values import Values
from muntin_engine.evaluators.arrays.stretches.key_table import At, KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.python_states import ModuleCallError, State, StateModule, States
from muntin_engine.evaluators.arrays.stretches.slices import in_windows
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import to_blob
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, STATE, Part, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, SpreadKeys, group_rows
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.state.codec import Codec
from muntin_engine.state.schema_versions import SchemaVersion, is_outdated
from muntin_engine.state.unstorable import find_unstorable, unstorable
from muntin_engine.state.value_columns import ValueColumn
from muntin_engine.time.changes import Key
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.period_numbers import numbers_at
from muntin_engine.wire.python_values import values_in

MOST_OBJECTS: Final = 1 << 15
"""About so many rows are Python objects at a time, and the next ones get their memory."""


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
        values_of: Callable[[pa.Array], list[Any]] = values_in,
    ) -> None:
        """Prepare the modules of a query.

        Args:
            bindings: The modules with the columns that they read. They define `combine`, and see neither times nor
                windows.
            codec: Packs states, and the records in them.
            axis: The axis of ticks; only messages depend on it.
            values_of: Returns the values of an input column.
        """
        self.modules = tuple(map(StateModule, bindings))
        self._codec = codec
        self._axis = axis
        self._values_of = values_of

    def lift(
        self, inputs: Sequence[pa.Array], order: IntArray, counts: IntArray, locate: At, first: int = 0
    ) -> dict[Part, States]:
        """Make a state of each group of rows, for each module, by one call that adds all rows of the group.

        Args:
            inputs: The columns of the rows.
            order: The places of the rows, group by group.
            counts: The number of rows of each group.
            locate: Returns the key and the window of a state by its number, for the message if a module fails.
            first: The number of the first state, as `locate` counts states.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        states_by_module: list[list[State]] = [[] for _ in self.modules]
        row_start = 0
        # Groups are taken in blocks of about `MOST_OBJECTS` rows: only the values of one block are Python objects at a
        # time.
        for start, stop in few_members(counts, MOST_OBJECTS):
            block_counts = counts[start:stop]
            row_count = int(block_counts.sum())
            places = arrow_array(order[row_start : row_start + row_count])
            row_start += row_count
            columns = [self._values_of(column.take(places)) for column in inputs]
            for module, states in zip(self.modules, states_by_module, strict=True):
                CURRENT_CALL.set_module(module.label)
                payloads = module.payloads(columns, row_count)
                with located(locate, first=first + start):
                    states.extend(module.lifted_states(payloads, block_counts))

        parts: dict[Part, States] = {}
        for place, (module, states) in enumerate(zip(self.modules, states_by_module, strict=True)):
            parts[Part(place, STATE)] = States.of(module, states, len(counts))
        return parts

    def results(self, windows: StretchTable, locate: At) -> list[list[Any]]:
        """Return the results of each module; see `results_of`."""
        return results_of(self.modules, windows, locate)

    def to_blob(self, keys: pa.Table, stretches: StretchTable, locate: At, first: int = 0) -> bytes:
        """Encode stretches with the states of each module.

        Args:
            keys: The keys of the stretches, which refer to them by their places.
            stretches: The stretches.
            locate: Returns the key and the window of a state by its number, for the message if one cannot be stored.
            first: The number of the first state, as `locate` counts states.

        Raises:
            StateError: A state is not plain data.
        """
        packed: list[bytes] = []
        for place, module in enumerate(self.modules):
            packed.append(self._pack(module, stretches.parts[Part(place, STATE)], locate, first))
        other_parts = {part: values for part, values in stretches.parts.items() if part.name != STATE}
        return to_blob(keys, replace(stretches, parts=other_parts), packed)

    def unpack(
        self, packed: Sequence[bytes], count: int, version: SchemaVersion | None, locate: At
    ) -> dict[Part, States]:
        """Return the states that `to_blob` packed, upgraded where an older version of their module wrote them.

        A module that was added to the query since then gets states without rows.

        Args:
            packed: The encoded states of each module that the query had then.
            count: The number of stretches.
            version: The schema version that wrote the states; None if that is the present one.
            locate: Returns the key and the window of a stretch by its place, for the message if a module fails.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        parts: dict[Part, States] = {}
        with located(locate):
            for place, module in enumerate(self.modules):
                if version is None:
                    states = self._codec.unpack(packed[place])
                else:
                    states = self._unpack_older(module, packed, count, version, version.places[place])
                parts[Part(place, STATE)] = States.of(module, states, count)
        return parts

    def _unpack_older(
        self,
        module: StateModule,
        packed: Sequence[bytes],
        count: int,
        version: SchemaVersion,
        stored_place: int | None,
    ) -> Sequence[State]:
        """Return the states of a module from those that an older schema version of the query packed.

        Args:
            module: The module.
            packed: The encoded states of each module that the query had then.
            count: The number of stretches.
            version: The schema version of the query.
            stored_place: The place of the module among those of that version; None if the query did not have it.
        """
        # The module is named only where it runs: a death while bytes are read is not its fault.
        if stored_place is None:
            CURRENT_CALL.set_module(module.label)
            return module.create_states(count)
        stored_version = version.versions[stored_place]
        if not is_outdated(module.module, module.module.version, stored_version):
            states: Sequence[State] = self._codec.unpack(packed[stored_place])
            return states
        CURRENT_CALL.set_module(module.label)
        # Records in the states may have had other fields then: they are read as dicts of these.
        older_states = self._codec.reading_fields().unpack(packed[stored_place])
        return module.upgrade(older_states, stored_version)

    def _pack(self, module: StateModule, values: States, locate: At, first: int) -> bytes:
        """Encode the states of a module.

        Args:
            module: The module.
            values: The states.
            locate: Returns the key and the window of a state by its number.
            first: The number of the first state, as `locate` counts states.

        Raises:
            StateError: A state is not plain data. The error names the key and the window of the first such state.
        """
        states = values.objects.tolist()
        try:
            return self._codec.pack(ValueColumn(states))
        except StateError as error:
            unstorable_state = find_unstorable(states, self._codec)
            if unstorable_state is None:
                raise
            place, problem = unstorable_state
            key, window = locate(first + place)
            extent = self._axis.spell_interval(window.start, window.end)
            raise unstorable(module.module, "a state", key, extent, problem) from error


def results_of(modules: Sequence[StateModule], windows: StretchTable, locate: At) -> list[list[Any]]:
    """Return for each module the result of each window; an operator's result is a list of rows.

    Args:
        modules: The modules.
        windows: The windows, with the states of each module.
        locate: Returns the key and the window at a place of the table, for the message if a module fails.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    results: list[list[Any]] = []
    with located(locate):
        for place, module in enumerate(modules):
            CURRENT_CALL.set_module(module.label)
            results.append(module.results(windows.parts[Part(place, STATE)].objects.tolist()))
    return results


@contextmanager
def located(locate: At, first: int = 0) -> Iterator[None]:
    """Name the key and the window in the error of a module's call that fails within the block.

    Args:
        locate: Returns the key and the window of a call by its number.
        first: The number of the first call in the block, as `locate` counts calls.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    try:
        yield
    except ModuleCallError as failure:
        raise failure.located(*locate(first + failure.place)) from failure.__cause__


def whereabouts(keys: KeyTable, codes: IntArray, window: Callable[[int], Window]) -> At:
    """Make the function that tells the key and the window of a module's call by the number of the call.

    Args:
        keys: The keys of the bucket.
        codes: The code of the key of each call.
        window: Returns the window of a call by its number.
    """

    def locate(place: int) -> tuple[Key, Window]:
        """Return the key and the window of a call by its number."""
        (key,) = keys_in(keys.take(codes[place : place + 1]))
        return key, window(place)

    return locate


def lift_states(
    modules: StateModules, grids: Sequence[SliceGrid], rows: RowsToLift, *, with_rows: bool = False
) -> Iterator[BucketBlob]:
    """Make Python states of the rows of each key and slice, and yield those of each bucket that has any.

    Rows in gaps between windows are sent without states: they count as accepted, and no module sees them.

    Cost: that of `StateModules`, and a few passes over the rows.

    Args:
        modules: The modules of the query.
        grids: The windows of each specification, over slices that all of them share.
        rows: The rows.
        with_rows: True to send the rows themselves as well.

    Raises:
        ModuleFailedError: A module raised an exception; its window is the extent of the slice.
        StateError: A state cannot be stored.
    """
    grid = grids[0]  # all of them have the same slices
    numbers = numbers_at(grid.periods, rows.starts)  # of ticks, or of periods of a calendar
    slices = grid.slices_at(numbers)
    is_in_window = in_windows(grids, firsts=slices, lasts=slices)
    rows_in_windows = rows if is_in_window.all() else rows.where(is_in_window)
    if len(rows_in_windows):
        yield from _lifted(modules, grid, rows_in_windows, with_rows=with_rows)
    if not is_in_window.all():
        rows_in_gaps = _GroupedRows.of(grid, rows.where(~is_in_window), with_rows=with_rows)
        yield from rows_in_gaps.keys.blobs(rows_in_gaps.stretches)


class _GroupedRows(NamedTuple):
    """Rows by bucket, slice and key.

    Attributes:
        keys: The keys of the rows.
        codes: For each row the place of its stretch.
        stretches: The stretches, without states; with lists of their rows where these are sent.
    """

    keys: SpreadKeys
    codes: IntArray
    stretches: StretchTable

    @classmethod
    def of(cls, grid: SliceGrid, rows: RowsToLift, *, with_rows: bool) -> _GroupedRows:
        """Group the rows of each key and slice."""
        keys = SpreadKeys.of(rows)
        groups = group_rows(grid, rows, keys)
        size = len(groups.keys)
        counts = np.bincount(groups.codes, minlength=size)
        parts: dict[Part, Values] = {}
        if with_rows:
            parts[LISTS] = rows.lists().reduce(groups.codes, size)
        stretches = StretchTable(groups.keys, low=groups.low, high=groups.low, weight=counts, parts=parts)
        return cls(keys, groups.codes, stretches)


def _lifted(modules: StateModules, grid: SliceGrid, rows: RowsToLift, *, with_rows: bool) -> Iterator[BucketBlob]:
    """Make states of rows, all of which are in windows, and yield those of each bucket."""
    keys, codes, stretches = _GroupedRows.of(grid, rows, with_rows=with_rows)

    def locate(place: int) -> tuple[Key, Window]:
        """Return the key and the slice of the stretch at a place, for the message if a module fails."""
        (key,) = keys_in(keys.table.slice(int(stretches.keys[place]), 1))
        return key, grid.extent(int(stretches.low[place]))

    # One bucket after the other: states are many small objects, and those of a bucket reuse the memory of the last.
    order = stable_order(codes, len(stretches))
    row_start = 0
    for bucket, bucket_keys, bucket_stretches, first in keys.by_bucket(stretches):
        row_stop = row_start + int(bucket_stretches.weight.sum())
        states = modules.lift(rows.inputs, order[row_start:row_stop], bucket_stretches.weight, locate, first)
        row_start = row_stop
        with_states = replace(bucket_stretches, parts={**bucket_stretches.parts, **states})
        yield BucketBlob(bucket, modules.to_blob(bucket_keys, with_states, locate, first))
