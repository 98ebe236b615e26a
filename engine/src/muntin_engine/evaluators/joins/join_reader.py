"""The state of a key of a join, read without its query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import JoinKind
from muntin_engine.evaluators.joins.join_state import JoinState
from muntin_engine.evaluators.joins.matching import LEFT, JoinQuery
from muntin_engine.evaluators.keyed.key_reader import query_without_modules, rows_of_keys
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import BucketReader, NamedInput, StateReader, StateRow


class PassingInCheckpoint(JoinState):
    """The state of one key of events that are their own results; the other side has none."""

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the events; and the results that were emitted and may change, each by the id of its event."""
        lefts = self.sides[LEFT]
        yield from lefts.state_rows(states, inputs)
        for left_id, emitted in self.emitted.items():
            for name, row in emitted.items():
                # The key is empty here: `rows_of_keys` fills it in.
                yield StateRow("result", (), name.start, row.end, {"id": lefts.id_of(left_id)})


class JoinInCheckpoint(JoinState):
    """The state of one key."""

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the events of both sides, and the rows that were emitted and may change, by the ids of their events."""
        for side, named_input in zip(self.sides, inputs, strict=True):
            yield from side.state_rows(states, [named_input])
        lefts, rights = self.sides
        for left_id, emitted in self.emitted.items():
            for name, row in emitted.items():
                ids = {"left": lefts.id_of(left_id), "right": rights.id_of(name.right_id)}
                # The key is empty here: `rows_of_keys` fills it in.
                yield StateRow("result", (), name.start, row.end, ids)


def rows_of_join(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the state of each key of a join as rows for a reader."""
    (_, left_identity), (_, right_identity) = bucket.inputs
    left_query = query_without_modules(bucket.identity, left_identity)
    right_query = query_without_modules(bucket.identity, right_identity)
    kind = JoinKind(bucket.identity["join"][0])
    query = JoinQuery(kind, sides=(left_query, right_query), columns=())
    return rows_of_keys(bucket, JoinInCheckpoint, query)


def rows_of_passed_events(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the state of each key as rows for a reader. The query computes nothing: its events are its results."""
    ((_, input_identity),) = bucket.inputs
    events = query_without_modules(bucket.identity, input_identity)
    # Such a query is evaluated as an anti join with no events: nothing matches, so every event is a result.
    no_events = EvaluatorQuery(events.window, ())
    query = JoinQuery(JoinKind.ANTI, sides=(events, no_events), columns=())
    return rows_of_keys(bucket, PassingInCheckpoint, query)
