"""Windows of a grid from the states, or rows, of slices, key by key: what neighbours have in common is merged once.

A *member* is a slice of a key that has rows. It enters with the first window that it is part of, and leaves after the
last one. A *step* is a run of neighbouring windows with the same members: they have one result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretches.coding import by_key_and_start, expanded
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.python_states import StateModule, States
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.slices import in_ticks
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, STATE, Part, StretchTable
from muntin_engine.evaluators.arrays.values.slice_queues import Queue
from muntin_engine.evaluators.arrays.values.state_modules import located, results_of, whereabouts
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.time.window_grid import NEVER


class SlidingWindows:
    """Makes the windows of a specification, and keeps the merged states that the next windows go on from.

    Cost: where windows are the state of a slice each, one `compute_result` per key and window. Otherwise, per key, a
    constant number of calls for each of its slices and of its windows, whatever size and hop; none for a window that
    has the same rows as the one before, and nothing for the time that lies between its rows.

    Attributes:
        grid: The slices.
    """

    def __init__(  # what windows are made of
        self,
        place: int,
        modules: Sequence[StateModule],
        grid: SliceGrid,
        keys: KeyTable,
        queue_of: Callable[[StateModule, SliceGrid], Queue],
        *,
        slices_have_states: bool,
    ) -> None:
        """Start before the first window.

        Args:
            place: The place of the specification among those of the query.
            modules: The modules.
            grid: The slices.
            keys: The keys of the bucket.
            queue_of: Makes an empty queue, of the states or of the rows of slices, for a module.
            slices_have_states: True if slices come with a state for every module; False if they come with rows.
        """
        self.grid = grid
        self._place = place
        self._modules = modules
        self._key_table = keys
        self._queue_of = queue_of
        self._slices_have_states = slices_have_states
        self._member_keys = np.empty(0, np.int64)
        """For each member of the next window, the code of its key."""
        self._member_slices = np.empty(0, np.int64)
        """For each of these members, its slice."""
        self._queues: list[dict[int, Queue]] = [{} for _ in modules]
        """For each module the queue of each key, by the code of the key."""
        self._entered_below = -NEVER
        """All slices before this one have entered."""
        self._step = 0
        """The place of the present step, for the message if a module fails."""

    def entering(self, first: int, stop: int) -> tuple[int, int]:
        """Return the range of the slices that enter with a range of windows.

        Args:
            first: The number of the first window, or `-NEVER`.
            stop: The number after that of the last window, or `NEVER`.

        Returns:
            The first slice, and the one after the last.
        """
        # Slices that the first window shares with earlier ones have entered with these.
        first_slice = max(self.grid.first_live(first), self._entered_below)
        return first_slice, self.grid.first_legal(stop)

    def close(self, slices: StretchTable | None, first: int, stop: int) -> Iterator[ResultWindows]:
        """Yield the windows from `first` up to but not including `stop` that have members, and go on to window `stop`.

        Args:
            slices: The slices in the range that `entering` returns, in their order, with the state or the rows of each
                for every module; None if the bucket has no slices at all.
            first: The number of a window, or `-NEVER`, which is before all others.
            stop: The number of a window, or `NEVER`, which is after all others.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        self._entered_below = self.grid.first_legal(stop)
        if slices is None:
            slices = self._no_slices()
        # A window that is one slice has the state of that slice. Rows must be added to a state first, as a queue does.
        if self._slices_have_states and self.grid.slices == 1 and not self.grid.grows:
            yield from self._single_slices(slices)
            return

        # First the members that entered with earlier windows and have not left, then those that enter.
        previous_count = len(self._member_keys)
        keys = np.concatenate([self._member_keys, slices.keys])
        slice_numbers = np.concatenate([self._member_slices, slices.low])
        entry_windows = np.maximum(self.grid.first_window(slice_numbers), first)
        exit_windows = self.grid.last_window(slice_numbers) + 1
        steps = steps_of(keys, entry_windows, exit_windows, previous_count, first=first, stop=stop)
        values = self._slide_all(slices, steps)

        # Slices that have not left at window `stop`, the next one to make, are members of it.
        member_places = np.flatnonzero(exit_windows > stop)
        if self.grid.grows:
            # All slices of a key leave together: one member stands for them.
            _, first_of_key = np.unique(keys[member_places], return_index=True)
            member_places = member_places[first_of_key]
        self._member_keys = keys[member_places]
        self._member_slices = slice_numbers[member_places]
        self._drop_idle_queues()

        has_windows = steps.make_windows
        yield from self._windows(
            keys=steps.keys[has_windows],
            firsts=steps.firsts[has_windows],
            stops=steps.stops[has_windows],
            values=values,
        )

    def _no_slices(self) -> StretchTable:
        """Return a table of no slices that has the part of each module's states, as other tables have it."""
        states: dict[Part, States] = {}
        for place, module in enumerate(self._modules):
            states[Part(place, STATE)] = States.of(module, states=(), count=0)
        return replace(EMPTY, parts=states)

    def _single_slices(self, slices: StretchTable) -> Iterator[ResultWindows]:
        """Yield windows of one slice each, which comes with states: nothing is merged, and no queue is needed."""
        extent_of = self.grid.windows.window
        numbers = self.grid.first_window(slices.low)
        locate = whereabouts(self._key_table, slices.keys, lambda place: extent_of(int(numbers[place])))
        values = results_of(self._modules, slices, locate)
        yield from self._windows(keys=slices.keys, firsts=numbers, stops=numbers + 1, values=values)

    def _slide_all(self, slices: StretchTable, steps: Steps) -> list[list[Any]]:
        """Return for each module its results for the steps that make windows.

        Args:
            slices: The slices that enter.
            steps: The steps of all keys.
        """
        extent_of = self.grid.windows.window
        order = by_key_and_start(slices.keys, slices.low)  # the order in which slices enter, step by step
        locate_step = whereabouts(self._key_table, steps.keys, lambda place: extent_of(int(steps.firsts[place])))
        values: list[list[Any]] = []
        # If a call fails, its key and window are those of the step in `_step`, which `_slide` keeps up to date. The
        # number of the call, which `located` passes on, says nothing here.
        with located(lambda _: locate_step(self._step)):
            for place, module in enumerate(self._modules):
                CURRENT_CALL.set_module(module.label)
                states = slices.parts[Part(place, STATE)].objects[order].tolist()
                values.append(self._slide(module, self._queues[place], states, steps))
        return values

    def _drop_idle_queues(self) -> None:
        """Drop the queues of the keys that have no member in the next window."""
        live_keys = set(self._member_keys.tolist())
        for queues in self._queues:
            for key in queues.keys() - live_keys:
                del queues[key]

    def _windows(
        self, keys: IntArray, firsts: IntArray, stops: IntArray, values: list[list[Any]]
    ) -> Iterator[ResultWindows]:
        """Yield the windows of steps, as one table; nothing if there are no steps.

        Args:
            keys: The code of the key of each step.
            firsts: The first window of each step.
            stops: The window after the last one of each step.
            values: The results of each module, step by step.
        """
        if len(keys):
            # All windows of a step share its result: `step_of_window` says for each window which step that is.
            step_of_window, within = expanded(stops - firsts)
            low, high = in_ticks(self.grid.windows, firsts[step_of_window] + within)
            weight = np.ones(len(step_of_window), np.int64)
            table = StretchTable(keys[step_of_window], low, high, weight, parts={})
            yield ResultWindows(
                place=self._place,
                windows=table,
                keys=self._key_table.take(table.keys),
                values=values,
                value_places=step_of_window,
            )

    def used_codes(self) -> IntArray:
        """Return the codes of the keys that have a member in the next window."""
        return self._member_keys

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self._member_keys = new_codes[self._member_keys]
        renumbered: list[dict[int, Queue]] = []
        for queues in self._queues:
            renumbered.append({int(new_codes[key]): queue for key, queue in queues.items()})
        self._queues = renumbered

    def _slide(self, module: StateModule, queues: dict[int, Queue], states: Sequence[Any], steps: Steps) -> list[Any]:
        """Go through the steps with a module; return its results for those that make windows.

        Args:
            module: The module.
            queues: The queue of each key, which the steps move on.
            states: The states, or rows, of the slices that enter, in the order of `steps`.
            steps: The steps, key by key.
        """
        results: list[Any] = []
        entering_states = iter(states)
        started = module.meter.now()
        columns = (steps.keys, steps.exit_counts, steps.entry_counts, steps.make_windows)
        steps_as_tuples = zip(*map(np.ndarray.tolist, columns), strict=True)
        # The loop writes each step to `_step`: if the module fails, the key and the window of the call are found there.
        for self._step, (key, exit_count, entry_count, makes_windows) in enumerate(steps_as_tuples):
            queue = queues.get(key)
            if queue is None:
                queue = queues[key] = self._queue_of(module, self.grid)
            if exit_count:
                queue.pop(exit_count)
            for _ in range(entry_count):
                queue.push(next(entering_states))
            if makes_windows:
                results.append(module.result(queue.state()))
        module.meter.since(started)
        return results


def sliding_windows(
    modules: Sequence[StateModule],
    grids: Sequence[SliceGrid],
    keys: KeyTable,
    queue_of: Callable[[StateModule, SliceGrid], Queue],
    *,
    slices_have_states: bool,
) -> list[SlidingWindows]:
    """Return a maker of windows for each specification; none of sessions and snapshots, which have no grids.

    Args:
        modules: The modules.
        grids: The windows of each specification, over slices that all of them share.
        keys: The keys of the bucket.
        queue_of: Makes an empty queue, of the states or of the rows of slices, for a module.
        slices_have_states: True if slices come with a state for every module; False if they come with rows.
    """
    window_makers: list[SlidingWindows] = []
    for place, grid in enumerate(grids):
        window_makers.append(
            SlidingWindows(place, modules, grid, keys, queue_of, slices_have_states=slices_have_states)
        )
    return window_makers


class Steps(NamedTuple):
    """The steps of keys through windows: neighbouring ones that have the same members, key by key and in their order.

    Attributes:
        keys: The code of the key of each step.
        firsts: The first window of each step.
        stops: The window after the last one of each step. It is the first one itself if members leave with the step and
            no window is made any more.
        exit_counts: The number of members that leave with the step: the oldest ones of the step before.
        entry_counts: The number of members that enter with the step.
        members: The number of members of the step.
    """

    keys: IntArray
    firsts: IntArray
    stops: IntArray
    exit_counts: IntArray
    entry_counts: IntArray
    members: IntArray

    @property
    def make_windows(self) -> BoolArray:
        """True for each step that makes windows: they exist, and have members."""
        make_windows: BoolArray = (self.members > 0) & (self.stops > self.firsts)
        return make_windows


def steps_of(  # members, and the windows that they go through
    keys: IntArray, entry_windows: IntArray, exit_windows: IntArray, previous_count: int, *, first: int, stop: int
) -> Steps:
    """Return the steps of all keys through a range of windows.

    A member is a slice of a key that has rows. A step is a run of neighbouring windows of a key with the same members.
    If members leave with the window `stop`, their key has a last step there, which makes no window.

    Cost: a sort of the members; windows without any are skipped, however many there are.

    Args:
        keys: The key of each member.
        entry_windows: The window with which each member enters. Of a key, a member that enters later leaves later, or
            at the same window.
        exit_windows: The first window that each member is not in any more.
        previous_count: The number of members that entered with earlier windows; they come first.
        first: The first window to make.
        stop: The window after the last one to make.

    Example:
        >>> entries = np.array([-1, 0, 8])
        >>> steps = steps_of(np.array([0, 0, 0]), entries, np.array([1, 2, 10]), previous_count=0, first=-5, stop=20)
        >>> [tuple(map(int, step[1:])) for step in zip(*steps)]  # first, stop, exits, entries, members
        [(-1, 0, 0, 1, 1), (0, 1, 0, 1, 2), (1, 2, 1, 0, 1), (2, 8, 1, 0, 0), (8, 10, 0, 1, 1), (10, 20, 1, 0, 0)]
    """
    # A key has a step wherever members enter or leave, and one at the first window if it has members from before. So
    # there are three kinds of changes at a window, in this order: one change for all members that a key has from
    # before, then one for each member that enters, then one for each member that leaves.
    exiting = np.flatnonzero(exit_windows <= stop)
    previous_keys, previous_counts = np.unique(keys[:previous_count], return_counts=True)
    entries = entry_windows[previous_count:]
    change_keys = np.concatenate([previous_keys, keys[previous_count:], keys[exiting]])
    change_windows = np.concatenate([np.full(len(previous_keys), first), entries, exit_windows[exiting]])
    change_count = len(change_keys)

    # Sorted by key and window, all changes of a key at one window are one step.
    order = by_key_and_start(change_keys, change_windows)
    change_keys = change_keys[order]
    change_windows = change_windows[order]
    is_other_key = np.append(True, change_keys[1:] != change_keys[:-1])[:change_count]
    is_other_window = np.append(True, change_windows[1:] != change_windows[:-1])[:change_count]
    starts = np.flatnonzero(is_other_key | is_other_window)

    def sums_by_step(changes: slice, members: IntArray | int) -> IntArray:
        """Return for each step the number of members that its changes of one kind are about.

        Args:
            changes: The changes of that kind, as a range of the changes before they were sorted.
            members: The number of members that each of these changes is about.
        """
        members_of_change = np.zeros(change_count, np.int64)
        members_of_change[changes] = members
        if not len(starts):  # `reduceat` needs a step
            return members_of_change
        return np.add.reduceat(members_of_change[order], starts)

    first_entry = len(previous_keys)
    first_exit = first_entry + len(entries)
    initial_counts = sums_by_step(slice(0, first_entry), members=previous_counts)
    entry_counts = sums_by_step(slice(first_entry, first_exit), members=1)
    exit_counts = sums_by_step(slice(first_exit, change_count), members=1)

    # A step has the members that entered with it or earlier steps of its key and have not left: the total over the
    # steps of all keys, less the total before the first step of its key.
    total = np.cumsum(initial_counts + entry_counts - exit_counts)
    key_starts = np.flatnonzero(is_other_key[starts])
    total_before_key = np.append(0, total)[key_starts]
    steps_of_key = np.diff(np.append(key_starts, len(starts)))
    members = total - np.repeat(total_before_key, steps_of_key)

    # A step ends where the next one of its key starts. The last step of a key ends with the last window.
    stops = np.append(change_windows[starts[1:]], stop)[: len(starts)]
    stops[key_starts[1:] - 1] = stop
    stops[-1:] = stop
    return Steps(
        keys=change_keys[starts],
        firsts=change_windows[starts],
        stops=stops,
        exit_counts=exit_counts,
        entry_counts=entry_counts,
        members=members,
    )
