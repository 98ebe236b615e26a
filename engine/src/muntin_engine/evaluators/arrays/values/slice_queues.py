"""The state of a window that slides over the slices of a key, for one module.

No queue changes the states that it is given: what it merges, it merges into states of its own.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Any, Protocol

from muntin_engine.evaluators.arrays.stretches.python_states import State, StateModule
from muntin_engine.time.slice_grid import SliceGrid


class Queue(Protocol):
    """What a module has of the slices of a key that are in a window: a state each, or rows. The oldest come first."""

    def push(self, state: Any, /) -> None:
        """Append the state, or the rows, of a slice; the caller must not mutate them afterwards."""
        ...

    def pop(self, count: int) -> None:
        """Remove the oldest slices."""
        ...

    def state(self) -> State:
        """Return the merged state of the slices; there is at least one. The caller must not mutate it."""
        ...


def queue_of_states(module: StateModule, grid: SliceGrid) -> Queue:
    """Return an empty queue of the states of slices, of the kind that costs the module the fewest calls."""
    if grid.grows:
        return Growing(module)
    return Deducting(module) if module.can_deduct else TwoStacks(module)


class TwoStacks:
    """The merged state of a queue of states, for modules that can only combine.

    The older states are on a stack where each is merged with all after it, the newer ones on another with one merged
    state of all. A window is one of either. When the older ones are used up, the newer ones are turned over. (Source:
    two-stacks in K. Tangwongsan, M. Hirzel, S. Schneider: Low-latency sliding-window aggregation in worst-case constant
    time, DEBS 2017.)

    Cost: five calls of `combine` and two of `create_state` for each state that is pushed and popped, amortised, if the
    merged state is asked for each time; whatever the number of states.
    """

    def __init__(self, module: StateModule) -> None:
        """Make an empty queue for a module."""
        self._module = module
        self._older: list[State] = []
        self._newer: list[State] = []
        self._sum: State = None
        """The merged state of the newer ones; None without newer ones."""

    def push(self, state: State) -> None:
        """Append a state; the caller must not mutate it afterwards."""
        newer = self._newer
        if not newer:
            self._sum = state
        elif len(newer) == 1:
            # So far the sum is the caller's own state, which `combine` might change: merge both into a new one.
            self._sum = self._module.merged(self._sum, state)
        else:
            self._sum = self._module.combine(self._sum, state)
        newer.append(state)

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        # The oldest state is on top of its stack, which is the end of the list.
        if count <= len(self._older):
            del self._older[len(self._older) - count :]
            return

        # The older ones are used up. What is left of the newer ones is turned over: each is merged with all after it.
        remaining = self._newer[count - len(self._older) :]
        self._older = []
        for state in reversed(remaining):
            merged = self._module.merged(state, self._older[-1]) if self._older else state
            self._older.append(merged)
        self._newer = []
        self._sum = None

    def state(self) -> State:
        """Return the merged state of the slices; there is at least one. The caller must not mutate it."""
        # The state on top of the older ones is the merge of all older ones; the sum is the merge of all newer ones.
        if not self._newer:
            return self._older[-1]
        if not self._older:
            return self._sum
        return self._module.merged(self._older[-1], self._sum)


class Deducting(TwoStacks):
    """The merged state of a queue, for modules that can undo a merge: a popped state is deducted from it.

    The merged state is made anew from its parts once as many were deducted as remain. So an empty queue leaves nothing
    behind, whatever `deduct` does to the last one; where most states are popped at once, they are not deducted one by
    one; and the rounding of a deduction that is not exact is gone after a window's length.

    What is deducted is what was combined: a row of a slice of which a window has closed is late, so states do not
    change while they are in the queue.

    Cost: one call of `deduct` and two of `combine` for each state that is pushed and popped, amortised.
    """

    _deducted = 0
    """The number of states that were deducted since the merged state was last made anew."""

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        popped_states = self._newer[:count]
        remaining_states = self._newer[count:]
        self._deducted += count
        if self._deducted < len(remaining_states):
            for state in popped_states:
                self._sum = self._module.deduct(self._sum, state)
            self._newer = remaining_states
            return

        # As many states were deducted as remain: the merged state is made anew, which takes no more calls than that.
        self._newer = []
        self._sum = None
        self._deducted = 0
        for state in remaining_states:
            self.push(state)


class Growing:
    """The merged state of a queue whose states are popped together: nothing else is kept.

    Cost: two calls of `combine` and one of `create_state` for the second state, one of `combine` for each later one.
    """

    def __init__(self, module: StateModule) -> None:
        """Make an empty queue for a module."""
        self._module = module
        self._count = 0
        self._sum: State = None

    def push(self, state: State) -> None:
        """Append a state; the caller must not mutate it afterwards."""
        self._count += 1
        if self._count == 1:
            self._sum = state
        elif self._count == 2:
            # So far the sum is the caller's own state, which `combine` might change: merge both into a new one.
            self._sum = self._module.merged(self._sum, state)
        else:
            self._sum = self._module.combine(self._sum, state)

    def pop(self, count: int) -> None:
        """Remove all states."""
        del count
        self._count = 0
        self._sum = None

    def state(self) -> State:
        """Return the merged state. The caller must not mutate it."""
        return self._sum


class RowQueue:
    """The state of the rows of a queue of slices, for modules that add and remove rows.

    Where a pop removes more rows than it leaves, the state is built anew. Where windows grow, all rows are popped
    together, and none is kept.

    Cost: a row is added once, and removed once; or, for each row that is popped and not removed, at most one other is
    added once more.
    """

    def __init__(self, module: StateModule, grid: SliceGrid) -> None:
        """Make an empty queue for a module."""
        self._module = module
        self._grows = grid.grows
        self._rows: deque[list[object]] = deque()
        self._size = 0
        self._state = module.create_state()

    def push(self, rows: list[object]) -> None:
        """Append the rows of a slice."""
        if rows:
            self._state = self._module.add(self._state, rows)
        if not self._grows:
            self._rows.append(rows)
            self._size += len(rows)

    def pop(self, count: int) -> None:
        """Remove the oldest slices."""
        if self._grows:  # all slices of a window that grows leave together, and `push` kept no rows
            self._state = self._module.create_state()
            return
        popped_rows: list[object] = []
        for _ in range(count):
            popped_rows += self._rows.popleft()
        self._size -= len(popped_rows)

        if len(popped_rows) > self._size:  # adding the rest to a new state takes fewer calls than removing
            self._state = self._module.create_state()
            if self._size:
                remaining_rows = list(chain.from_iterable(self._rows))
                self._state = self._module.add(self._state, remaining_rows)
        elif popped_rows:
            self._state = self._module.remove(self._state, popped_rows)

    def state(self) -> State:
        """Return the state. The caller must not mutate it."""
        return self._state
