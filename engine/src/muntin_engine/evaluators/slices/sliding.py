"""The state of a window that slides over the slices of a key, for one module.

Both ways keep the states they are given as they are: what they merge, they merge into states of their own.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from muntin_engine.evaluators.slices.modules import SlicedModule, State


class Sliding(Protocol):
    """The merged state of a queue of states."""

    def push(self, state: State) -> None:
        """Append a state. It must stay as it is."""
        ...

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        ...

    def state(self) -> State:
        """Return the merged state of those that are in, at least one. It is not the caller's to change."""
        ...

    def held(self) -> int:
        """Return the number of states that it keeps besides those it was given."""
        ...


def slide(module: SlicedModule) -> Sliding:
    """Return the cheapest way for a module."""
    return Deducting(module) if module.can_deduct else TwoStacks(module)


class TwoStacks:
    """For modules that can only combine.

    The older states are on a stack where each is merged with all after it, the newer ones on another with one merged
    state of all. A window is one of either. When the older ones are used up, the newer ones are turned over. (Source:
    two-stacks in K. Tangwongsan, M. Hirzel, S. Schneider: Low-latency sliding-window aggregation in worst-case constant
    time, DEBS 2017.)

    Cost: five calls of `combine` and two of `create_state` for each state that comes and goes, amortised, if it is
    asked for the merged state each time; whatever the number of states.
    """

    def __init__(self, module: SlicedModule) -> None:
        self._module = module
        self._older: list[State] = []
        self._newer: list[State] = []
        self._sum: State = None

    def push(self, state: State) -> None:
        """Append a state."""
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
        older = self._older
        left = len(older) - count
        if left >= 0:
            del older[left:]
        else:
            self._turn_over(self._newer[-left:])

    def state(self) -> State:
        """Return the merged state."""
        if not self._newer:
            return self._older[-1]
        return self._module.merged(self._older[-1], self._sum) if self._older else self._sum

    def held(self) -> int:
        """Return the number of states that it keeps: all but the borrowed ones."""
        return max(0, len(self._older) - 1) + (len(self._newer) > 1)

    def _turn_over(self, states: list[State]) -> None:
        older: list[State] = []
        for state in reversed(states):
            older.append(self._module.merged(state, older[-1]) if older else state)
        self._older, self._newer, self._sum = older, [], None


class Deducting:
    """For modules that can undo a merge: what leaves is deducted, what comes is combined.

    The merged state is made anew from its parts once as many were deducted as are left. So an empty queue leaves
    nothing behind, whatever `deduct` does to the last one; a queue that mostly leaves at once is not deducted
    piece by piece; and the rounding of a deduction that is not exact is gone after a window's length.

    Parts never change while they are in: a row of a slice of which a window has closed is late.

    Cost: one `deduct` and two of `combine` for each state that comes and goes, amortised.
    """

    def __init__(self, module: SlicedModule) -> None:
        self._module = module
        self._states: deque[State] = deque()
        self._sum: State = None
        self._deducted = 0

    def push(self, state: State) -> None:
        """Append a state."""
        self._states.append(state)
        count = len(self._states)
        if count == 1:
            self._sum = state
        elif count == 2:
            self._sum = self._module.merged(self._sum, state)
        else:
            self._sum = self._module.combine(self._sum, state)

    def pop(self, count: int) -> None:
        """Remove the oldest states."""
        states = self._states
        self._deducted += count
        if self._deducted >= len(states) - count:
            self._make_anew([states.popleft() for _ in range(len(states))][count:])
        else:
            for _ in range(count):
                self._sum = self._module.deduct(self._sum, states.popleft())

    def state(self) -> State:
        """Return the merged state."""
        return self._sum

    def held(self) -> int:
        """Return the number of states that it keeps: one, unless that is borrowed."""
        return int(len(self._states) > 1)

    def _make_anew(self, states: list[State]) -> None:
        self._sum, self._deducted = None, 0
        for state in states:
            self.push(state)
