"""Sinks and their checkpoint are of one time: a sink is neither ahead of it nor behind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from muntin_engine import Sink, StateError
from muntin_engine.backends.spark.checkpoints.sink_checks import check_not_ahead, check_not_behind, input_id_of
from muntin_engine.sinks.written_batch import WrittenBatch


@dataclass
class SinkWithBatch(Sink):
    """A sink that says which micro-batch it wrote last."""

    last: WrittenBatch | None

    @property
    def last_written(self) -> WrittenBatch | None:
        return self.last

    def write(self, batch: Any, batch_id: int) -> None:
        raise NotImplementedError


def check_before_batch_5(last_written: WrittenBatch | None, next_input: str | None) -> None:
    """Check a sink when micro-batch 5 is the next one of the checkpoint; its input is None if it was never planned."""
    check_not_ahead("results=x", SinkWithBatch(last_written), 5, next_input)


def check_after_batch_5(last_written: WrittenBatch | None, last_input: str = "a", *, is_new: bool = False) -> None:
    """Check a sink when micro-batch 5 is the last one of the checkpoint, which a new sink is not mentioned in."""
    check_not_behind("results=x", SinkWithBatch(last_written), 5, last_input, is_new=is_new)


@pytest.mark.parametrize(
    ("last_written", "next_input"),
    [
        pytest.param(WrittenBatch(4, "a"), "b", id="it has the micro-batch before"),
        pytest.param(WrittenBatch(4, "a"), None, id="it has the micro-batch before, and the next is not planned"),
        pytest.param(WrittenBatch(5, "a"), "a", id="it has the next micro-batch, of the same input"),
        pytest.param(WrittenBatch(5, "a"), "", id="it has the next micro-batch, whose input is unknown"),
        pytest.param(WrittenBatch(5), "a", id="it has the next micro-batch, and does not know of which input"),
        pytest.param(WrittenBatch(-1), "a", id="it has no micro-batch"),
        pytest.param(None, None, id="it does not know what it has"),
    ],
)
def test_a_sink_is_not_ahead_if_what_it_has_comes_again(
    last_written: WrittenBatch | None, next_input: str | None
) -> None:
    check_before_batch_5(last_written, next_input)


@pytest.mark.parametrize(
    ("last_written", "next_input"),
    [
        pytest.param(WrittenBatch(5, "a"), "b", id="it has the next micro-batch, of another input"),
        pytest.param(WrittenBatch(5, "a"), None, id="it has the next micro-batch, which is not planned"),
        pytest.param(WrittenBatch(6, "a"), "a", id="it has the micro-batch after the next"),
        pytest.param(WrittenBatch(5), None, id="it has a micro-batch without an input, which is not planned"),
    ],
)
def test_a_sink_that_is_ahead_is_refused_with_the_ways_out(last_written: WrittenBatch, next_input: str | None) -> None:
    message = rf"results=x is ahead of the checkpoint: it has micro-batch {last_written.number}"
    with pytest.raises(StateError, match=message + r"(.|\n)*restore the other(.|\n)*or start"):
        check_before_batch_5(last_written, next_input)


def test_a_sink_is_not_behind_if_it_has_the_last_micro_batch_or_does_not_know() -> None:
    for last_written in (WrittenBatch(5), WrittenBatch(6), None):
        check_after_batch_5(last_written)


def test_a_new_sink_may_have_no_micro_batch() -> None:
    check_after_batch_5(WrittenBatch(-1), is_new=True)


@pytest.mark.parametrize(
    ("last_number", "is_new", "what_it_has"),
    [(4, False, "micro-batches up to 4"), (4, True, "micro-batches up to 4"), (-1, False, "no micro-batch")],
)
def test_a_sink_that_is_behind_is_refused(last_number: int, is_new: bool, what_it_has: str) -> None:
    message = rf"results=x is behind the checkpoint: it has {what_it_has}\n  expected: .* to 5"
    with pytest.raises(StateError, match=message):
        check_after_batch_5(WrittenBatch(last_number), is_new=is_new)


def test_a_sink_whose_last_micro_batch_read_something_else_than_the_checkpoints_is_refused() -> None:
    with pytest.raises(StateError, match=r"results=x has micro-batch 5 with another input than the checkpoint"):
        check_after_batch_5(WrittenBatch(5, "a"), "b")
    check_after_batch_5(WrittenBatch(5, "a"), "a")


def test_inputs_are_not_compared_where_one_is_unknown_or_of_the_next_micro_batch() -> None:
    check_after_batch_5(WrittenBatch(5), "b")
    check_after_batch_5(WrittenBatch(5, "a"), "")
    check_after_batch_5(WrittenBatch(6, "a"), "b")  # it comes again


def test_the_id_of_an_input_depends_on_what_spark_has_planned(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "0").write_text('v1\n{"batchTimestampMs":1}\n{"logOffset":0}')
    first_id = input_id_of(str(tmp_path), 0)
    assert first_id != ""
    assert input_id_of(f"file:{tmp_path}", 0) == first_id
    (offsets / "0").write_text('v1\n{"batchTimestampMs":2}\n{"logOffset":0}')
    assert input_id_of(str(tmp_path), 0) not in (first_id, "")


def test_an_input_that_is_not_planned_or_on_no_disk_of_this_machine_has_no_id(tmp_path: Path) -> None:
    assert input_id_of(str(tmp_path), 1) == ""
    assert input_id_of("s3://bucket/checkpoint", 0) == ""
