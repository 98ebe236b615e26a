"""Numbers from the progress of a query, also from the batches that Spark keeps, and warnings of unread rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.listener import StreamingQueryProgress

from muntin import EARLIEST, INFINITY
from muntin_engine import BatchMetrics, batch_metrics
from muntin_engine.monitoring.recent_batches import latest, recent_batches
from muntin_engine.monitoring.unread_rows import UnreadRows
from tests.engine.monitoring.queries import FakeQuery, progress, recorded

MINUTE = 60_000_000
EIGHT = 1_714_550_400_000_000  # 2024-05-01 08:00 UTC


def numbers(**metrics: Any) -> BatchMetrics:
    return batch_metrics(progress(muntin=metrics))["muntin"]


def test_what_a_query_reports_is_read_back() -> None:
    metrics = [batch_metrics(report)["muntin"] for report in recorded()]
    assert [report.batch for report in metrics] == [0, 1, 2, 3]
    assert [(report.accepted, report.late, report.rejected, report.results) for report in metrics] == [
        (3, 0, 0, 0),
        (2, 0, 0, 2),
        (1, 1, 1, 0),
        (1, 0, 0, 2),
    ]
    assert [report.windows_closed for report in metrics] == [0, 2, 0, 2]
    assert all(report.seconds > 0 and report.started is not None for report in metrics)
    assert all(report.is_time for report in metrics)
    assert all(set(report.stages) == {"distribute", "lift", "intake", "evaluate", "encode"} for report in metrics)
    assert all(set(report.modules) == {"longest"} for report in metrics)


def as_on_connect(progress: dict[str, Any]) -> dict[str, Any]:
    """Return progress as a query of Spark Connect has it, whose metrics are values beside their schema."""
    observed: dict[str, Row] = {}
    for name, metrics in progress["observedMetrics"].items():
        schema = {"fields": [{"name": metric} for metric in metrics]}
        observed[name] = Row(values=list(metrics.values()), schema=schema)
    return {**progress, "observedMetrics": observed}


@pytest.mark.parametrize("read", [dict, json.dumps, StreamingQueryProgress.fromJson, as_on_connect])
def test_progress_is_read_in_each_form_that_spark_gives_it_in(read: Any) -> None:
    for report in recorded():
        assert batch_metrics(read(report)) == batch_metrics(report)


def test_metrics_of_others_are_left_alone() -> None:
    one_batch = progress(ours={"accepted": 3})
    one_batch["observedMetrics"]["theirs"] = {"accepted": 4}
    assert list(batch_metrics(one_batch)) == ["ours"]
    assert batch_metrics({"batchId": 1}) == {}


def test_what_nobody_was_asked_is_not_known() -> None:
    metrics = numbers(state_bytes=None, accepted=0, watermark=None)
    assert (metrics.state_bytes, metrics.watermark, metrics.accepted) == (None, None, 0)


def test_what_the_input_has_not_said_is_not_known() -> None:
    metrics = numbers(watermark=EARLIEST, newest=EARLIEST, clock=EARLIEST, output_watermark=EARLIEST)
    for name in ("watermark", "newest", "clock", "output_watermark", "lag", "output_lag", "clock_lag"):
        assert getattr(metrics, name) is None


def test_times_are_seconds() -> None:
    metrics = numbers(**{"evaluate_us": 1_500_000, "module_us:delay_p90": 250_000})
    assert metrics.stages == {"evaluate": 1.5}
    assert metrics.modules == {"delay_p90": 0.25}
    assert metrics.seconds == 0.5


def test_a_lag_is_how_far_the_punctuation_is_behind() -> None:
    metrics = numbers(newest=EIGHT + 5 * MINUTE, watermark=EIGHT, output_watermark=EIGHT - 10 * MINUTE)
    assert (metrics.lag, metrics.output_lag) == (5 * MINUTE, 10 * MINUTE)
    ahead = numbers(newest=EIGHT, watermark=EIGHT + MINUTE, output_watermark=EIGHT + MINUTE)
    assert (ahead.lag, ahead.output_lag) == (0, 0)


def test_the_lag_behind_the_clock_counts_to_the_end_of_the_batch() -> None:
    assert numbers(watermark=EIGHT - MINUTE).clock_lag == MINUTE + 500_000


def test_there_is_no_lag_behind_the_clock_where_ticks_are_not_time_or_the_input_has_ended() -> None:
    assert numbers(time_axis=0, watermark=7).clock_lag is None
    closed = numbers(watermark=INFINITY, newest=EIGHT)
    assert closed.is_closed
    assert (closed.clock_lag, closed.lag) == (None, 0)


def test_rates_are_of_the_whole_batch() -> None:
    assert numbers(accepted=20).rows_per_second == 40
    assert BatchMetrics(query="muntin", batch=0, accepted=20).rows_per_second == 0


def test_the_start_is_an_aware_time() -> None:
    assert numbers().started == datetime(2024, 5, 1, 8, tzinfo=UTC)


def test_the_batches_that_spark_keeps_are_read_for_each_query_in_it() -> None:
    history = [
        progress(0, left={"late": 1}, right={"late": 2}),
        {"batchId": 1},
        progress(2, left={"late": 3}, right={}),
    ]
    query = FakeQuery(history, looks=len(history))
    reported = recent_batches(query)
    assert set(reported) == {"left", "right"}
    assert [(report.batch, report.late) for report in reported["left"]] == [(0, 1), (2, 3)]
    assert [(report.batch, report.late) for report in reported["right"]] == [(0, 2), (2, 0)]


def test_a_level_is_the_last_reported_value() -> None:
    history = [progress(0, muntin={"keys_held": 7}), progress(1, muntin={"keys_held": None})]
    batches = recent_batches(FakeQuery(history, looks=len(history)))["muntin"]
    assert batches[-1].keys_held is None
    assert latest(batches, "keys_held") == 7
    assert latest(batches, "events_held") is None


UNREAD = {"unread_late": 1, "unread_rejected": 1}


def batch(number: int, second: float, run: str = "r", **metrics: Any) -> dict[str, Any]:
    spark = {"id": "d7dbda75-9e29-4ba9", "runId": run, "name": None}
    return {**progress(number, second - number, muntin={**UNREAD, **metrics}), **spark}


def test_the_first_late_rows_are_warned_of_at_once_and_later_ones_once_a_minute() -> None:
    # second   1        20       59.9    61          100
    # late     3        5        1       0           0       then the end
    #          warned                    6 warned            nothing to warn of
    rows = UnreadRows()
    (first_warning,) = rows.warnings_of(batch(0, 1, accepted=7, late=3))
    assert first_warning.message.splitlines()[0] == (
        "muntin (Spark query d7dbda75): 3 of 10 rows were late, up to micro-batch 0, and no sink takes them"
    )
    for number, (second, late) in enumerate([(20, 5), (50, 1), (59.9, 0), (30, 0)], start=1):
        assert list(rows.warnings_of(batch(number, second, accepted=7, late=late))) == []
    (last_warning,) = rows.end("r")
    assert last_warning.message.startswith("muntin (Spark query d7dbda75): 6 of 34 rows were late, up to micro-batch 4")
    assert list(rows.end("r")) == []


def test_a_minute_after_the_last_warning_the_next_one_comes() -> None:
    rows = UnreadRows()
    assert len(list(rows.warnings_of(batch(0, 0, late=1)))) == 1
    later = {**batch(1, 1, accepted=4, late=2, late_by=90_000_000), "timestamp": "2024-05-01T08:01:00.000Z"}
    (warning,) = rows.warnings_of(later)
    assert warning.kind == "late"
    assert "2 of 6 rows were late, by up to 1 min 30 s," in warning.message
    assert "write(..., late_rows='late')" in warning.message


def test_rows_that_a_sink_takes_or_nobody_wants_are_not_told() -> None:
    rows = UnreadRows()
    assert list(rows.warnings_of(batch(0, 0, unread_late=0, late=5))) == []
    (warning,) = rows.warnings_of(batch(1, 0, unread_late=0, late=5, rejected=2))
    assert warning.kind == "rejected"
    assert "2 of 12 rows were rejected, up to" in warning.message
    assert list(rows.warnings_of(batch(0, 0, run="other"))) == []


def test_queries_and_runs_count_apart_and_a_micro_batch_counts_once() -> None:
    rows = UnreadRows()
    of_two_queries = {
        **batch(0, 0),
        **progress(0, 0, left={**UNREAD, "late": 1}, right={**UNREAD, "late": 2, "rejected": 4}),
    }
    assert sorted((report.kind, report.message.partition(":")[0]) for report in rows.warnings_of(of_two_queries)) == [
        ("late", "left (Spark query d7dbda75)"),
        ("late", "right (Spark query d7dbda75)"),
        ("rejected", "right (Spark query d7dbda75)"),
    ]
    assert list(rows.warnings_of(of_two_queries)) == []
    assert len(list(rows.warnings_of({**of_two_queries, "runId": "again"}))) == 3
