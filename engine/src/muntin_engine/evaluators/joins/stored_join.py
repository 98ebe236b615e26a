"""The state of a key of a join, read without its query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import JoinKind
from muntin_engine.evaluators.joins.join_state import JoinState
from muntin_engine.evaluators.joins.matching import LEFT, JoinQuery
from muntin_engine.evaluators.keyed.stored_keys import query_without_modules, rows_of_keys
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.stored_bucket import HeldRow, NamedInput, StoredBucket, StoredStates


class StoredPassing(JoinState):
    """The state of one key of events that are their own results; the other side has none."""

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events, and by their ids those that were emitted and may change."""
        lefts = self.sides[LEFT]
        yield from lefts.held_rows(states, inputs)
        for left_id, emitted in self.emitted.items():
            for (_, start), (_, end) in emitted.items():
                yield HeldRow("result", (), start, end, {"id": lefts.id_of(left_id)})


class StoredJoin(JoinState):
    """The state of one key."""

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the events of both sides, and the rows that were emitted and may change, by the ids of their events."""
        for side, named_input in zip(self.sides, inputs, strict=True):
            yield from side.held_rows(states, [named_input])
        lefts, rights = self.sides
        for left_id, emitted in self.emitted.items():
            for (right_id, start), (_, end) in emitted.items():
                ids = {"left": lefts.id_of(left_id), "right": rights.id_of(right_id)}
                yield HeldRow("result", (), start, end, ids)


def rows_of_join(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the content of each key's state."""
    left, right = [query_without_modules(stored.identity, input_identity) for _, input_identity in stored.inputs]
    kind = JoinKind(stored.identity["join"][0])
    return rows_of_keys(stored, StoredJoin, JoinQuery(kind, (left, right), ()))


def rows_of_passed_events(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the content of each key's state, of events that are their own results."""
    ((_, input_identity),) = stored.inputs
    events = query_without_modules(stored.identity, input_identity)
    no_events = EvaluatorQuery(events.window, ())
    return rows_of_keys(stored, StoredPassing, JoinQuery(JoinKind.ANTI, (events, no_events), ()))
