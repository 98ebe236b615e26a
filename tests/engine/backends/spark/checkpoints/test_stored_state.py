"""Which buckets of a checkpoint are reported as misplaced, by what their cells say; without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin_engine.backends.spark.checkpoints.stored_state import (
    LastCommit,
    StoredState,
    _BucketOrigin,
    _OperatorOrigins,
    _StatefulOperator,
)
from muntin_engine.errors import StateError
from muntin_engine.state.cells import Origin
from muntin_engine.state.idle_note import IdleNote

BUCKET = 3


class ReadState(StoredState):
    """The state of operators of one partition, as it would be read from a checkpoint."""

    def __init__(self, origins: Sequence[_OperatorOrigins]) -> None:
        super().__init__(cast("Any", SimpleNamespace(streams=None)), "checkpoint")
        self._origins_by_id = origins

    @contextmanager
    def _readable_path(self) -> Iterator[str]:
        yield "checkpoint"

    def _operators(self, path: str) -> list[_StatefulOperator]:
        del path
        return [_StatefulOperator(id=place, partitions=1) for place in range(len(self._origins_by_id))]

    def _origins(self, path: str, operator: _StatefulOperator) -> _OperatorOrigins:
        del path
        return self._origins_by_id[operator.id]


def written_in(batch: int | None, idle: IdleNote | None = None) -> _OperatorOrigins:
    """Return what an operator has: the state of its bucket as a micro-batch wrote it, and the note of its partition."""
    buckets = {} if batch is None else {BUCKET: _BucketOrigin(0, Origin("q", BUCKET, batch))}
    return _OperatorOrigins(buckets, {} if idle is None else {0: idle})


def check(
    *origins: _OperatorOrigins, last_batch: int, repartitioned_batch: int | None = None, has_begun: bool = False
) -> None:
    """Check the state of operators with one bucket each after a micro-batch."""
    commit = LastCommit("q", last_batch, repartitioned_batch, has_begun)
    ReadState(origins).check_partitions([[[BUCKET]] for _ in origins], commit)


def test_older_state_is_misplaced_unless_the_note_of_its_partition_explains_it() -> None:
    check(written_in(4, IdleNote(5, 7)), last_batch=7)
    with pytest.raises(StateError, match=r"has the state .* in micro-batch 3 of .*, and the last one was 7"):
        check(written_in(3, IdleNote(5, 7)), last_batch=7)


def test_state_of_any_age_is_right_after_a_repartition() -> None:
    check(written_in(3), last_batch=7, repartitioned_batch=7)


def test_a_bucket_without_state_is_missed_after_a_repartition_too() -> None:
    with pytest.raises(StateError, match="state/0/0 lacks the state of bucket 3"):
        check(written_in(None), last_batch=7, repartitioned_batch=7, has_begun=True)


def test_an_earlier_operator_may_be_without_state_as_its_input_may_have_had_no_rows() -> None:
    check(written_in(None, IdleNote(0, 7)), written_in(7), last_batch=7, has_begun=True)


def test_the_last_operator_may_not_be_without_state_once_the_query_has_begun() -> None:
    with pytest.raises(StateError, match="state/1/0 lacks the state of bucket 3"):
        check(written_in(7), written_in(None, IdleNote(0, 7)), last_batch=7, has_begun=True)
