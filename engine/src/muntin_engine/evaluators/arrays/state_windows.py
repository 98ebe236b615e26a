"""Windows of a grid from the Python states of slices, key by key; what windows have in common is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.edges import by_key_and_start
from muntin_engine.evaluators.arrays.held import in_windows
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.state_modules import StateModules, located, whereabouts
from muntin_engine.evaluators.arrays.states import State, StateModule
from muntin_engine.evaluators.arrays.stretch_table import STATE, Part, StretchTable


def slide(module: StateModule, *, grows: bool = False) -> TwoStacks:
    """Return the cheapest way for a module, given whether all states leave together."""
    if grows:
        return Growing(module)
    return Deducting(module) if module.can_deduct else TwoStacks(module)


class TwoStacks:
    """The merged state of a queue of states, for modules that can only combine.

    The older states are on a stack where each is merged with all after it, the newer ones on another with one merged
    state of all. A window is one of either. When the older ones are used up, the newer ones are turned over. (Source:
    two-stacks in K. Tangwongsan, M. Hirzel, S. Schneider: Low-latency sliding-window aggregation in worst-case constant
    time, DEBS 2017.)

    Cost: five calls of `combine` and two of `create_state` for each state that comes and goes, amortised, if it is
    asked for the merged state each time; whatever the number of states.
    """

    def __init__(self, module: StateModule) -> None:
        """Hold nothing."""
        self._module = module
        self._older: list[State] = []
        self._newer: list[State] = []
        self._sum: State = None

    def push(self, state: State) -> None:
        """Append a state. It must stay as it is."""
        newer = self._newer
        if not newer:
            self._sum = state
        elif len(newer) == 1:
            self._sum = self._module.merged(self._sum, state)
        else:
            self._sum = self._module.combine(self._sum, state)
        newer.append(state)

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        if count <= len(self._older):
            del self._older[len(self._older) - count :]
            return
        states, older = self._newer[count - len(self._older) :], list[State]()
        for state in reversed(states):
            older.append(self._module.merged(state, older[-1]) if older else state)
        self._older, self._newer, self._sum = older, [], None

    def state(self) -> State:
        """Return the merged state of those that are in, at least one. It is not the caller's to change."""
        if not self._newer:
            return self._older[-1]
        return self._module.merged(self._older[-1], self._sum) if self._older else self._sum


class Deducting(TwoStacks):
    """The same for modules that can undo a merge: what leaves is deducted, what comes is combined.

    The merged state is made anew from its parts once as many were deducted as are left. So an empty queue leaves
    nothing behind, whatever `deduct` does to the last one; a queue that mostly leaves at once is not deducted
    piece by piece; and the rounding of a deduction that is not exact is gone after a window's length.

    Parts never change while they are in: a row of a slice of which a window has closed is late.

    Cost: one `deduct` and two of `combine` for each state that comes and goes, amortised.
    """

    _deducted = 0

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        leaving, left = self._newer[:count], self._newer[count:]
        self._deducted += count
        if self._deducted < len(left):
            for state in leaving:
                self._sum = self._module.deduct(self._sum, state)
            self._newer = left
            return
        self._newer, self._sum, self._deducted = [], None, 0
        for state in left:
            self.push(state)


class Growing(TwoStacks):
    """The same where all that is in leaves together: one merged state is enough.

    Cost: two of `combine` and one of `create_state` for the second state that comes, one of `combine` for each more.
    """

    _count = 0

    def push(self, state: State) -> None:
        """Append a state. It must stay as it is."""
        self._count += 1
        if self._count == 1:
            self._sum = state
        else:
            self._sum = (self._module.merged if self._count == 2 else self._module.combine)(self._sum, state)

    def pop(self, count: int) -> None:
        """Remove all states."""
        assert count == self._count, f"{count} of {self._count} leave"
        self._sum, self._count = None, 0

    def state(self) -> State:
        """Return the merged state of those that are in, at least one. It is not the caller's to change."""
        return self._sum


class WindowRuns(NamedTuple):
    """Runs of neighbouring windows of a key that have the same rows, and so the same results.

    Attributes:
        keys: The code of the key of each run.
        firsts: Its first window.
        lasts: The window after its last one.
        values: By module, the results.
    """

    keys: IntArray
    firsts: IntArray
    lasts: IntArray
    values: list[list[Any]]


class StateWindows:
    """Makes the windows of a specification, and keeps the merged states that the next windows go on from.

    Cost: where windows are a slice each, one `compute_result` per key and window. Otherwise, per key, a constant number
    of calls for each of its slices and of its windows, whatever size and hop; none for a window that has the same rows
    as the one before, and nothing for the time that lies between its rows.

    Attributes:
        grid: The slices.
    """

    def __init__(self, modules: StateModules, grid: SliceGrid, keys: KeyTable) -> None:
        """Start before the first window."""
        self.grid = grid
        self._modules, self._table = modules, keys
        self._keys = self._slices = np.empty(0, np.int64)
        self._queues: list[dict[int, TwoStacks]] = [{} for _ in modules.modules]
        self._came_below = -NEVER
        self._step = 0

    def coming(self, first: int, last: int) -> tuple[int, int]:
        """Return the first of the slices that come into some windows and were in none before, and the one after them.

        Where windows grow, what comes in is what was carried up to the first of them, and what follows.

        Args:
            first: The first window, or `-NEVER`.
            last: The window after the last one, or `NEVER`.
        """
        if self.grid.grows:
            return first, last
        low, self._came_below = max(self.grid.first_live(first), self._came_below), self.grid.first_legal(last)
        return low, self._came_below

    def close(self, coming: StretchTable, first: int, last: int) -> WindowRuns:
        """Return the windows from `first` up to but not including `last` that have members.

        Args:
            coming: The slices that come in, a state for each key and slice, in the order of slices.
            first: As for `coming`, of which each call is followed by one of this method.
            last: The same.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        runs, extent = self.grid.runs, self.grid.windows.window
        coming = coming.where(in_windows([self.grid], coming.low))
        if self.grid.slices == 1 and not self.grid.grows:
            firsts = runs.first_ending_after(coming.low)
            at = whereabouts(self._table, coming.keys, lambda place: extent(int(firsts[place])))
            return WindowRuns(coming.keys, firsts, firsts + 1, self._modules.results(coming, at))
        present = len(self._keys)
        keys, slices = (np.concatenate(some) for some in ((self._keys, coming.keys), (self._slices, coming.low)))
        comes, at_last = self.grid.windows_between(slices)
        leaves = at_last + 1
        steps = steps_of(keys, np.maximum(comes, first), leaves, present, first, last)
        order = by_key_and_start(coming.keys, coming.low)
        at = whereabouts(self._table, steps.keys, lambda place: extent(int(steps.firsts[place])))
        values: list[list[Any]] = []
        with located(lambda _: at(self._step)):
            for place, (module, queues) in enumerate(zip(self._modules.modules, self._queues, strict=True)):
                RUNNING.many(module.label, RUNNING.locate)
                states = coming.parts[Part(place, STATE)].objects[order].tolist()
                values.append(self._slide(module, queues, states, steps))
        stays = (leaves > last) & (not self.grid.grows)
        self._keys, self._slices = keys[stays], slices[stays]
        alive = set(self._keys.tolist())
        self._queues = [{key: queue for key, queue in some.items() if key in alive} for some in self._queues]
        made = steps.make_windows
        return WindowRuns(steps.keys[made], steps.firsts[made], steps.lasts[made], values)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._keys = places[self._keys]
        self._queues = [{int(places[key]): queue for key, queue in some.items()} for some in self._queues]

    def _slide(
        self, module: StateModule, queues: dict[int, TwoStacks], states: Sequence[State], steps: Steps
    ) -> list[Any]:
        """Return a module's results for the steps that make windows, given the states that come in, key by key."""
        results, come = list[Any](), iter(states)
        started = module.meter.now()
        columns = (steps.keys, steps.leaving, steps.coming, steps.make_windows)
        for self._step, (key, leaving, coming, is_made) in enumerate(
            zip(*map(np.ndarray.tolist, columns), strict=True)
        ):
            queue = queues.get(key)
            if queue is None:
                queue = queues[key] = slide(module, grows=self.grid.grows)
            if leaving:
                queue.pop(leaving)
            for _ in range(coming):
                queue.push(next(come))
            if is_made:
                results.append(module.result(queue.state()))
        module.meter.since(started)
        return results


class Steps(NamedTuple):
    """The steps of keys through windows: neighbouring ones that have the same members, key by key and in their order.

    Attributes:
        keys: The code of the key of each step.
        firsts: The first of its windows.
        lasts: The one after the last; `firsts` where members leave and no window is made any more.
        leaving: How many members, the oldest, are not in them that were in those before.
        coming: How many more members are in them.
        members: How many members are in them.
    """

    keys: IntArray
    firsts: IntArray
    lasts: IntArray
    leaving: IntArray
    coming: IntArray
    members: IntArray

    @property
    def make_windows(self) -> BoolArray:
        """Whether there is a window, and it has members."""
        found: BoolArray = (self.members > 0) & (self.lasts > self.firsts)
        return found


def steps_of(keys: IntArray, comes: IntArray, leaves: IntArray, present: int, first: int, last: int) -> Steps:
    """Return the steps through some windows; afterwards only members of windows from `last` on are in.

    Cost: a sort of the members; windows without any are skipped, however many there are.

    Args:
        keys: The key of each member.
        comes: The first window that it is in; those of members that are not in already ascend with `leaves`, by key.
        leaves: The first window that it is not in any more.
        present: How many of the members, the first, are in already.
        first: The first window to make.
        last: The one after the last.

    Example:
        >>> steps = steps_of(np.array([0, 0, 0]), np.array([-1, 0, 8]), np.array([1, 2, 10]), 0, -5, 20)
        >>> [tuple(map(int, step[1:])) for step in zip(*steps)]
        [(-1, 0, 0, 1, 1), (0, 1, 0, 1, 2), (1, 2, 1, 0, 1), (2, 8, 1, 0, 0), (8, 10, 0, 1, 1), (10, 20, 1, 0, 0)]
    """
    gone = np.flatnonzero(leaves <= last)
    before, counts = np.unique(keys[:present], return_counts=True)
    named = np.concatenate([before, keys[present:], keys[gone]])
    times = np.concatenate([np.full(len(before), first), comes[present:], leaves[gone]])
    were, come = len(before), len(keys) - present
    order = by_key_and_start(named, times)
    named, times = named[order], times[order]
    is_other_key = np.append(True, named[1:] != named[:-1])[: len(named)]
    starts = np.flatnonzero(is_other_key | np.append(True, times[1:] != times[:-1])[: len(named)])

    def added(low: int, high: int, counts: IntArray | int = 1) -> IntArray:
        """Return for each step the sum of some counts, of the changes from one place up to another."""
        values = np.zeros(len(named), np.int64)
        values[low:high] = counts
        return np.add.reduceat(values[order], starts) if len(starts) else values

    coming, leaving = added(were, were + come), added(were + come, len(named))
    total = np.cumsum(added(0, were, counts) + coming - leaving)
    of_key = np.flatnonzero(is_other_key[starts])
    base = np.append(0, total)[of_key]
    members = total - np.repeat(base, np.diff(np.append(of_key, len(starts))))
    lasts = np.append(times[starts[1:]], last)[: len(starts)]
    lasts[of_key[1:] - 1] = last
    lasts[-1:] = last
    return Steps(named[starts], times[starts], lasts, leaving, coming, members)
