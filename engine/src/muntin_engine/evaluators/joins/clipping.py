"""The changes of a key's output where right events clip left ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from muntin import INFINITY
from muntin_engine.evaluators.joins.emission import JoinEmission
from muntin_engine.evaluators.joins.join_query import JoinQuery
from muntin_engine.evaluators.joins.key_state import JoinState
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, Match, Watermarks
from muntin_engine.evaluators.keyed.event_index import StoredEvent


class ClipEmission(JoinEmission):
    """Emits left events, each until the first right event that starts after it.

    A left event is over once it is clipped for good, and a right one is needed while a kept event ends at its start:
    the next one could take its place only while both may still be retracted. So each batch that touches a key looks at
    all its left events.
    """

    def __init__(self, query: JoinQuery, state: JoinState, watermarks: Watermarks) -> None:
        """Take a key; see `JoinEmission`."""
        super().__init__(query, state, watermarks)
        self._looks_at_all = True
        self._clipped_at: dict[Hashable, int] = {}

    def _matches(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        self._clipped_at[left.id] = clipped_at = _first_after(left, rights)
        return [Match(None, left.start, min(left.end, clipped_at))]

    def _awaited(self, left: StoredEvent, match: Match, rights: Sequence[StoredEvent]) -> list[tuple[int, int]]:
        finality, end, watermark = self._finality, match.end, self._watermarks[RIGHT]
        if not finality.lasts(LEFT, left, end):
            return [(LEFT, end)]
        if left.start + 1 < end and watermark < end:
            return [(RIGHT, end)]
        clips = self._query.sides[RIGHT]
        stays = not clips.event_ends_move or clips.is_edge or watermark > end
        is_clipped = any(right.start == end for right in rights)
        if (is_clipped and stays) or (end == left.end and finality.is_fixed(LEFT, left)):
            return []
        awaited = [(LEFT, end + 1)] if end == left.end else []
        return awaited + ([(RIGHT, end + 1)] if watermark <= end else [])

    def _forget_lefts(self) -> list[StoredEvent]:
        left, gone = self._state.sides[LEFT], super()._forget_lefts()
        over = [
            event
            for event in left.events
            if self._clipped_at.get(event.id, INFINITY) < self._watermarks[RIGHT]
            and self._finality.is_past(LEFT, event)
        ]
        left.replace(over, ())
        left.forgot(over)
        return gone + over

    def _forget_rights(self) -> None:
        ends = {self._clipped_at.get(event.id) for event in self._state.sides[LEFT].events}
        self._forget(RIGHT, self._watermarks[LEFT], lambda event: event.start in ends)

    def _ends_at(self, side: int, event: StoredEvent) -> int:
        clipped_at = self._clipped_at.get(event.id, INFINITY) if side == LEFT else INFINITY
        return event.end if clipped_at == INFINITY else min(event.end, clipped_at + 1)


def _first_after(left: StoredEvent, rights: Iterable[StoredEvent]) -> int:
    """Return the first start of a right event after that of a left one; `INFINITY` if there is none."""
    return min((right.start for right in rights if right.start > left.start), default=INFINITY)
