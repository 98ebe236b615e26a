"""What the demo says it has counted so far."""

from datetime import UTC, datetime

from pyspark.sql.streaming.listener import StreamingQueryProgress

from demo.tally import Tally
from muntin import EARLIEST, INFINITY, instant


def progress(batch_id: int, **counts: int) -> StreamingQueryProgress:
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
    for report in (progress(0, accepted=1000, late=0, rejected=0, results=5), progress(1), None):
        tally.take(report)
    for _ in range(2):
        tally.take(progress(2, accepted=500, late=2, rejected=0, results=7))
    assert tally.line("delays") == "1,500 in, 2 late, 12 out"


def test_what_a_query_does_not_count_is_left_out() -> None:
    tally = Tally()
    tally.take(progress(0, accepted=1, late=0, rejected=3, results=2, retractions=0))
    assert tally.line("delays") == "1 in, 0 late, 3 rejected, 2 out"
    assert tally.line("airborne") == ""


def test_it_says_how_far_a_question_is_until_the_stream_is_closed() -> None:
    tally = Tally()
    tally.take(progress(0, accepted=1, results=0, watermark=EARLIEST))
    assert tally.line("delays") == "1 in, 0 out"
    tally.take(
        progress(1, accepted=1, results=2, retractions=1, watermark=instant(datetime(2013, 1, 4, 12, 30, tzinfo=UTC)))
    )
    assert tally.line("delays") == "2 in, 2 out, 1 retracted, to 01-04 12:30"
    tally.take(progress(2, accepted=0, results=1, watermark=INFINITY))
    assert tally.line("delays") == "2 in, 3 out, 1 retracted"
