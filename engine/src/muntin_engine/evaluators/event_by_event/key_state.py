"""The state of a key that an operator follows: the events that wait for the watermark, and the operator's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from muntin import EARLIEST, INFINITY, IntervalOperator, Window, tumbling
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment.assigner import GridAssigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.state_serializer import StateSerializer

ALL: Final = Window(EARLIEST, INFINITY)
"""Stands for the tick of a call that has not been made, in messages about the state."""


class TickAssigner(GridAssigner):
    """Makes each event a member of the tick at which it starts, until the watermark has passed that."""

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return that tick, also where a revision has given the event another end."""
        del end
        return start, start + 1

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return these ticks."""
        del ends
        return starts, [start + 1 for start in starts]


class LastingAssigner(TickAssigner):
    """Makes each event a member of all ticks until the watermark has passed its end, by when that is final."""

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return these ticks, the end among them."""
        return start, min(end, INFINITY - 1) + 1

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return these ticks."""
        return starts, [min(end, INFINITY - 1) + 1 for end in ends]


class FollowedState(KeyState):
    """The state of a key.

    Attributes:
        own: The operator's state; None if the key is as good as a new one.
        wake_up: The time at which the operator wants to be called; `INFINITY` if there is none.
        lasts: True if events are kept until they have ended, as the operator is told of that.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key."""
        super().__init__(query, serial)
        (binding,) = query.bindings
        self.lasts = isinstance(binding.module, IntervalOperator)
        self.assigner = (LastingAssigner if self.lasts else TickAssigner)(tumbling(1))
        self.own: Any = None
        self.wake_up = INFINITY

    @property
    def plain_count(self) -> int:
        """0: the state of a module is kept besides events."""
        return 0

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return self.own is None and super().is_empty

    def to_data(self, serializer: StateSerializer, key: object) -> list[object]:
        """Return the state as plain data."""
        return [super().to_data(serializer, key), *self._own_data(serializer, key)]

    def changes(self, serializer: StateSerializer, key: object) -> list[object] | None:
        """Return the difference of the waiting events, and the operator's state as a whole."""
        waiting = super().changes(serializer, key)
        return None if waiting is None else [waiting, *self._own_data(serializer, key)]

    def _own_data(self, serializer: StateSerializer, key: object) -> list[object]:
        packed = [] if self.own is None else serializer.pack([[self.own]], key, [ALL])
        return [packed, serializer.schema_version, self.wake_up]

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> FollowedState:
        """Return the state that `to_data` wrote, with the `changes` after it."""
        state = super().from_data(query, [waiting for waiting, *_ in stored], serializer, key)
        assert isinstance(state, FollowedState)
        _, packed, schema_version, state.wake_up = stored[-1]
        if packed:
            ((state.own,),) = serializer.unpack(packed, schema_version, key, [ALL])
        return state
