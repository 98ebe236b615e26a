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


#                 the sink has     the next one reads
COMES_AGAIN = [
    (WrittenBatch(4, "a"), "b"),
    (WrittenBatch(4, "a"), None),
    (WrittenBatch(5, "a"), "a"),
    (WrittenBatch(5, "a"), ""),
    (WrittenBatch(5), "a"),
    (WrittenBatch(-1), "a"),
    (None, None),
]
AHEAD = [
    (WrittenBatch(5, "a"), "b"),
    (WrittenBatch(5, "a"), None),
    (WrittenBatch(6, "a"), "a"),
    (WrittenBatch(5), None),
]


@pytest.mark.parametrize(("last", "read"), COMES_AGAIN)
def test_a_sink_goes_on_that_has_less_or_what_comes_again(last: WrittenBatch | None, read: str | None) -> None:
    check_not_ahead("results=x", SinkWithBatch(last), 5, read)


@pytest.mark.parametrize(("last", "read"), AHEAD)
def test_a_sink_that_is_ahead_is_refused_with_the_ways_out(last: WrittenBatch, read: str | None) -> None:
    message = rf"results=x is ahead of the checkpoint: it has micro-batch {last.number}"
    with pytest.raises(StateError, match=message + r"(.|\n)*restore the other(.|\n)*or start"):
        check_not_ahead("results=x", SinkWithBatch(last), 5, read)


def test_a_sink_that_is_behind_is_refused_unless_it_is_new_or_does_not_know() -> None:
    for last in (WrittenBatch(5), WrittenBatch(6), None):
        check_not_behind("results=x", SinkWithBatch(last), 5, "a", is_new=False)
    check_not_behind("results=x", SinkWithBatch(WrittenBatch(-1)), 5, "a", is_new=True)
    behind = [(4, False, "micro-batches up to 4"), (4, True, "micro-batches up to 4"), (-1, False, "no micro-batch")]
    for number, is_new, has in behind:
        with pytest.raises(StateError, match=rf"results=x is behind the checkpoint: it has {has}\n  expected: .* to 5"):
            check_not_behind("results=x", SinkWithBatch(WrittenBatch(number)), 5, "a", is_new=is_new)


def test_a_checkpoint_that_says_its_last_micro_batch_read_something_else_is_refused() -> None:
    for last, read in ((WrittenBatch(5, "a"), "a"), (WrittenBatch(5), "b"), (WrittenBatch(5, "a"), "")):
        check_not_behind("results=x", SinkWithBatch(last), 5, read, is_new=False)
    next_batch = WrittenBatch(6, "a")  # it comes again
    check_not_behind("results=x", SinkWithBatch(next_batch), 5, "b", is_new=False)
    with pytest.raises(StateError, match=r"results=x has micro-batch 5 with another input than the checkpoint"):
        check_not_behind("results=x", SinkWithBatch(WrittenBatch(5, "a")), 5, "b", is_new=False)


def test_the_id_of_an_input_depends_on_what_spark_has_planned(tmp_path: Path) -> None:
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    (offsets / "0").write_text('v1\n{"batchTimestampMs":1}\n{"logOffset":0}')
    first = input_id_of(str(tmp_path), 0)
    assert first == input_id_of(f"file:{tmp_path}", 0) != ""
    (offsets / "0").write_text('v1\n{"batchTimestampMs":2}\n{"logOffset":0}')
    assert input_id_of(str(tmp_path), 0) not in (first, "")
    assert input_id_of(str(tmp_path), 1) == input_id_of("s3://bucket/checkpoint", 0) == ""
