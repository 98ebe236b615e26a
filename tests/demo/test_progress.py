"""What the demo says it has counted so far, and without a terminal: a line now and then."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress
from rich.console import Console

from demo.on_spark import shown_progress
from demo.progress_lines import ProgressLines
from demo.tally import Tally
from muntin import EARLIEST, INFINITY, instant


def progress(batch_id: int, **counts: int) -> StreamingQueryProgress:
    """Return a report of Spark on a micro-batch, with some metrics of the query `delays`, or with none."""
    return StreamingQueryProgress.fromJson(
        {
            "id": "00000000-0000-0000-0000-000000000000",
            "runId": "00000000-0000-0000-0000-000000000000",
            "name": "demo",
            "timestamp": "2013-01-01T00:00:00.000Z",
            "batchId": batch_id,
            "batchDuration": 1,
            "durationMs": {},
            "stateOperators": [],
            "sources": [],
            "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
            "observedMetrics": {"delays": counts} if counts else {},
        }
    )


def test_counts_of_all_micro_batches_add_up_and_a_second_report_changes_nothing() -> None:
    tally = Tally()
    tally.take(progress(0, accepted=1000, late=0, rejected=0, results=5))
    tally.take(progress(1))
    tally.take(None)  # what Spark reports before the first micro-batch
    for _ in range(2):
        tally.take(progress(2, accepted=500, late=2, rejected=0, results=7))
    assert tally.line("delays") == "1,500 in, 2 late, 12 out"


def test_a_count_that_a_query_does_not_report_is_left_out() -> None:
    tally = Tally()
    tally.take(progress(0, accepted=1, late=0, rejected=3, results=2, retractions=0))
    assert tally.line("delays") == "1 in, 0 late, 3 rejected, 2 out"
    assert tally.line("airborne") == ""


def test_it_says_how_far_a_question_is_until_the_stream_is_closed() -> None:
    tally = Tally()
    tally.take(progress(0, accepted=1, results=0, watermark=EARLIEST))
    assert tally.line("delays") == "1 in, 0 out"
    half_past_twelve = instant(datetime(2013, 1, 4, 12, 30, tzinfo=UTC))
    tally.take(progress(1, accepted=1, results=2, retractions=1, watermark=half_past_twelve))
    assert tally.line("delays") == "2 in, 2 out, 1 retracted, to 01-04 12:30"
    tally.take(progress(2, accepted=0, results=1, watermark=INFINITY))
    assert tally.line("delays") == "2 in, 3 out, 1 retracted"


def test_a_line_comes_every_ten_seconds_if_a_step_was_done_and_at_once_after_the_last_step() -> None:
    clock = 0.0
    written: list[str] = []
    lines = ProgressLines(written.append, every=10, now=lambda: clock)
    # (seconds, steps done): an update each
    for seconds, done in [(1, 1), (9, 2), (10, 2), (11, 3), (20, 3), (25, 4), (31, 4), (32, 5)]:
        clock = float(seconds)
        lines.update("busiest", done, 5, f"{done} in")
    assert written == [
        "    10 s  busiest   2/5  2 in",
        "    20 s  busiest   3/5  3 in",
        "    31 s  busiest   4/5  4 in",
        "    32 s  busiest   5/5  5 in",
    ]


def test_a_line_of_one_question_makes_that_of_another_wait_no_longer() -> None:
    clock = 0.0
    written: list[str] = []
    lines = ProgressLines(written.append, every=10, now=lambda: clock)
    clock = 12.0
    for name in ("busiest", "delays", "busiest"):
        lines.update(name, 1, 5, "")
    assert [line.split()[2] for line in written] == ["busiest", "delays"]


def test_where_there_is_no_terminal_lines_are_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress(["busiest"], 1, Console(file=io.StringIO())) as show:
        show("busiest", 1, "7 in")
        assert "busiest   1/1  7 in\n" in capsys.readouterr().out
