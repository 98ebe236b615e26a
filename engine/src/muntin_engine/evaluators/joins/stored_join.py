"""The state of a key of a join, read without its query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import JoinKind
from muntin_engine.evaluators.joins.join_run import JoinState
from muntin_engine.evaluators.joins.matching import LEFT, JoinQuery
from muntin_engine.evaluators.keyed.stored_keys import query_without_modules, rows_of_keys
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.stored_bucket import HeldRow, NamedInput, StoredBucket, StoredStates


class StoredPassing(JoinState):
    """The state of one key of events that are their own results; the other side has none."""

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events, and those that were emitted and may change, by their ids."""
        events = self.sides[LEFT]
        yield from events.held_rows(states, inputs)
        for id, emitted in self.emitted.items():
            for (_, start), (_, end) in emitted.items():
                yield HeldRow("result", (), start, end, {"id": events.id_of(id)})


class StoredJoin(JoinState):
    """The state of one key."""

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events of both sides, and the rows that were emitted and may change, by the ids of their events."""
        for side, given in zip(self.sides, inputs, strict=True):
            yield from side.held_rows(states, [given])
        left, right = self.sides
        for id, emitted in self.emitted.items():
            for (other, start), (_, end) in emitted.items():
                yield HeldRow("result", (), start, end, {"left": left.id_of(id), "right": right.id_of(other)})


def rows_of_join(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield what is held of each key."""
    left, right = (query_without_modules(stored.identity, given) for _, given in stored.inputs)
    kind = JoinKind(stored.identity["join"][0])
    return rows_of_keys(stored, StoredJoin, JoinQuery(kind, (left, right), ()))


def rows_of_passed_events(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield what is held of each key of events that are their own results."""
    ((_, given),) = stored.inputs
    events = query_without_modules(stored.identity, given)
    nothing = EvaluatorQuery(events.window, ())
    return rows_of_keys(stored, StoredPassing, JoinQuery(JoinKind.ANTI, (events, nothing), ()))
