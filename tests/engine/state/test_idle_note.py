"""Which micro-batches the state of a bucket may lack, by the note of idle ones and by repartitions.

A line is micro-batches in order: R has rows, - is idle, P moves the state to another number of partitions.
"""

from __future__ import annotations

import pytest

from muntin_engine.state.cells import Origin, seal, unseal
from muntin_engine.state.idle_note import IDLE, IdleNote


def may_lack(line: str, first_missing: int, *, has_begun: bool = False, repartitioned_batch: int | None = None) -> bool:
    """Return whether the state may lack the micro-batches of a line from one on.

    Args:
        line: The micro-batches. A partition writes its note in each idle one, and a repartition takes the note away.
        first_missing: The number of the first micro-batch that the state lacks.
        has_begun: True if all buckets are known to have had state.
        repartitioned_batch: The repartition that is known at the end; by default that of the last micro-batch alone, as
            for a query that is started then.
    """
    note: IdleNote | None = None
    known_repartition: int | None = None
    for batch, kind in enumerate(line):
        if kind == "P":
            note = None
            known_repartition = batch
        if kind == "-":
            note = IdleNote.in_idle_batch(batch, note, known_repartition)
    last_batch = len(line) - 1
    if repartitioned_batch is None and line.endswith("P"):
        repartitioned_batch = last_batch
    idle = IdleNote.up_to(last_batch, note, repartitioned_batch)
    return idle is not None and idle.explains(first_missing, has_begun=has_begun)


def test_state_may_lack_the_idle_micro_batches_after_it() -> None:
    assert may_lack("RR--", first_missing=2)


def test_state_may_not_lack_a_micro_batch_with_rows() -> None:
    assert not may_lack("RR--", first_missing=1)


def test_an_older_note_does_not_count() -> None:
    assert not may_lack("R--R", first_missing=1)


def test_state_that_no_micro_batch_should_have_written_lacks_none() -> None:
    assert not may_lack("R--", first_missing=3)


def test_a_bucket_may_be_without_state_if_its_partition_was_always_idle() -> None:
    assert may_lack("---", first_missing=0)
    assert not may_lack("R--", first_missing=0)


def test_no_bucket_is_without_state_once_all_are_known_to_have_had_it() -> None:
    assert not may_lack("---", first_missing=0, has_begun=True)


def test_state_may_lack_a_repartition_and_idle_micro_batches_before_it() -> None:
    """The repartition moves buckets away from the notes of their partitions."""
    assert may_lack("RP", first_missing=1)
    assert may_lack("R--P", first_missing=1)


def test_state_may_lack_a_repartition_and_idle_micro_batches_after_it_also_in_a_later_run() -> None:
    assert may_lack("RP--", first_missing=1)
    assert may_lack("R-P--", first_missing=1)


def test_a_repartition_that_is_known_only_later_counts_too() -> None:
    idle = IdleNote.up_to(4, stored=IdleNote(3, 4), repartitioned_batch=2)
    assert idle == IdleNote(0, 4)


@pytest.mark.parametrize("line", ["RRPR", "RRPR--", "RRP-R"])
def test_a_repartition_covers_no_state_once_rows_have_come_since(line: str) -> None:
    assert not may_lack(line, first_missing=1, repartitioned_batch=2)


def test_no_bucket_may_be_without_state_after_a_repartition_either() -> None:
    assert not may_lack("RP", first_missing=0, has_begun=True)


def test_a_note_is_read_back_from_its_cell() -> None:
    note = IdleNote(3, 7)
    sealed = seal(IDLE, note.to_bytes(), Origin("q", -1, batch=7))
    assert IdleNote.of_cell(unseal(IDLE, sealed)) == note
