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


def metrics_of(**metrics: Any) -> BatchMetrics:
    """Return what is read of the first micro-batch, at 8 o'clock, of a query that observes these metrics."""
    return batch_metrics(progress(muntin=metrics))["muntin"]


def test_what_a_query_reports_is_read_back() -> None:
    batches = [batch_metrics(report)["muntin"] for report in recorded()]

    # the micro-batches that are drawn in record.py
    assert [batch.batch for batch in batches] == [0, 1, 2, 3]
    assert [batch.accepted for batch in batches] == [3, 2, 1, 1]
    assert [batch.late for batch in batches] == [0, 0, 1, 0]
    assert [batch.rejected for batch in batches] == [0, 0, 1, 0]
    assert [batch.results for batch in batches] == [0, 2, 0, 2]
    assert [batch.windows_closed for batch in batches] == [0, 2, 0, 2]

    for batch in batches:
        assert batch.seconds > 0
        assert batch.started is not None
        assert batch.is_time
        assert set(batch.stages) == {"distribute", "lift", "intake", "evaluate", "encode"}
        assert set(batch.modules) == {"longest"}


def as_spark_connect_has_it(progress: dict[str, Any]) -> dict[str, Any]:
    """Return progress in the form of a query of Spark Connect, whose metrics are values beside their schema."""
    observed: dict[str, Row] = {}
    for name, metrics in progress["observedMetrics"].items():
        schema = {"fields": [{"name": metric} for metric in metrics]}
        observed[name] = Row(values=list(metrics.values()), schema=schema)
    return {**progress, "observedMetrics": observed}


@pytest.mark.parametrize("in_form", [dict, json.dumps, StreamingQueryProgress.fromJson, as_spark_connect_has_it])
def test_progress_is_read_in_each_form_that_spark_gives_it_in(in_form: Any) -> None:
    for report in recorded():
        assert batch_metrics(in_form(report)) == batch_metrics(report)


def test_metrics_that_others_observe_in_the_same_query_are_left_alone() -> None:
    report = progress(ours={"accepted": 3})
    report["observedMetrics"]["theirs"] = {"accepted": 4}  # without `time_axis`, which all of Muntin's have
    assert list(batch_metrics(report)) == ["ours"]


def test_of_progress_without_observed_metrics_nothing_is_read() -> None:
    assert batch_metrics({"batchId": 1}) == {}


def test_a_metric_that_no_row_of_the_batch_reported_is_not_known() -> None:
    metrics = metrics_of(state_bytes=None, accepted=0, watermark=None)
    assert metrics.state_bytes is None
    assert metrics.watermark is None
    assert metrics.accepted == 0


def test_a_time_that_the_input_has_not_reached_yet_is_not_known_and_no_lag_behind_it() -> None:
    metrics = metrics_of(watermark=EARLIEST, newest=EARLIEST, clock=EARLIEST, output_watermark=EARLIEST)
    for name in ("watermark", "newest", "clock", "output_watermark", "lag", "output_lag", "clock_lag"):
        assert getattr(metrics, name) is None


def test_measured_times_are_read_as_seconds() -> None:
    metrics = metrics_of(**{"evaluate_us": 1_500_000, "module_us:delay_p90": 250_000})
    assert metrics.stages == {"evaluate": 1.5}
    assert metrics.modules == {"delay_p90": 0.25}
    assert metrics.seconds == 0.5


def test_a_lag_is_how_far_a_watermark_is_behind_and_not_negative() -> None:
    behind = metrics_of(newest=EIGHT + 5 * MINUTE, watermark=EIGHT, output_watermark=EIGHT - 10 * MINUTE)
    assert (behind.lag, behind.output_lag) == (5 * MINUTE, 10 * MINUTE)
    ahead = metrics_of(newest=EIGHT, watermark=EIGHT + MINUTE, output_watermark=EIGHT + MINUTE)
    assert (ahead.lag, ahead.output_lag) == (0, 0)


def test_the_lag_behind_the_clock_counts_to_the_end_of_the_batch() -> None:
    half_a_second = 500_000  # from the start of the batch, at 8, to its end
    assert metrics_of(watermark=EIGHT - MINUTE).clock_lag == MINUTE + half_a_second


def test_there_is_no_lag_behind_the_clock_where_ticks_are_not_time_or_the_input_has_ended() -> None:
    assert metrics_of(time_axis=0, watermark=7).clock_lag is None
    closed = metrics_of(watermark=INFINITY, newest=EIGHT)
    assert closed.is_closed
    assert (closed.clock_lag, closed.lag) == (None, 0)


def test_a_rate_is_over_the_whole_time_of_the_batch_and_zero_if_that_is_not_known() -> None:
    assert metrics_of(accepted=20).rows_per_second == 40  # in half a second
    assert BatchMetrics(query="muntin", batch=0, accepted=20).rows_per_second == 0


def test_the_start_is_an_aware_time() -> None:
    assert metrics_of().started == datetime(2024, 5, 1, 8, tzinfo=UTC)


def test_the_batches_that_spark_keeps_are_read_for_each_query_in_it() -> None:
    history = [
        progress(0, left={"late": 1}, right={"late": 2}),
        {"batchId": 1},
        progress(2, left={"late": 3}, right={}),
    ]
    batches_by_query = recent_batches(FakeQuery.ended(history))
    assert set(batches_by_query) == {"left", "right"}
    left = [(batch.batch, batch.late) for batch in batches_by_query["left"]]
    right = [(batch.batch, batch.late) for batch in batches_by_query["right"]]
    assert left == [(0, 1), (2, 3)]
    assert right == [(0, 2), (2, 0)]


def test_the_latest_value_is_the_last_that_a_batch_reported() -> None:
    history = [progress(0, muntin={"keys_held": 7}), progress(1, muntin={"keys_held": None})]
    batches = recent_batches(FakeQuery.ended(history))["muntin"]
    assert batches[-1].keys_held is None
    assert latest(batches, "keys_held") == 7
    assert latest(batches, "events_held") is None


UNREAD = {"unread_late": 1, "unread_rejected": 1}
"""The metrics of a query whose late and rejected rows no sink takes."""

SPARK_QUERY = {"id": "d7dbda75-9e29-4ba9", "runId": "r", "name": None}


def batch(number: int, second: float, **metrics: Any) -> dict[str, Any]:
    """Return the progress of a query whose late and rejected rows no sink takes, unless its metrics say otherwise.

    Args:
        number: The number of the micro-batch.
        second: The second after 8 o'clock at which it began.
        metrics: Metrics of the query.
    """
    return {**progress(number, second, muntin={**UNREAD, **metrics}), **SPARK_QUERY}


def test_the_first_late_rows_are_warned_of_at_once_and_those_of_the_next_minute_together_at_the_end() -> None:
    # batch     0        1    2    3      4
    # second    1        20   50   59.9   30, by a clock that was set back
    # late      3        5    1    0      0      then the query ends
    #           warned                           6 warned
    rows = UnreadRows()
    (first_warning,) = rows.warnings_of(batch(0, second=1, accepted=7, late=3))
    assert first_warning.message.splitlines()[0] == (
        "muntin (Spark query d7dbda75): 3 of 10 rows were late, up to micro-batch 0, and no sink takes them"
    )

    for number, second, late in [(1, 20, 5), (2, 50, 1), (3, 59.9, 0), (4, 30, 0)]:
        assert list(rows.warnings_of(batch(number, second, accepted=7, late=late))) == []

    (last_warning,) = rows.end("r")
    assert last_warning.message.startswith("muntin (Spark query d7dbda75): 6 of 34 rows were late, up to micro-batch 4")
    assert list(rows.end("r")) == []


def test_a_minute_after_the_last_warning_the_next_one_comes() -> None:
    rows = UnreadRows()
    assert len(list(rows.warnings_of(batch(0, second=0, late=1)))) == 1

    a_minute_later = {"timestamp": "2024-05-01T08:01:00.000Z"}
    next_batch = batch(1, second=0, accepted=4, late=2, late_by=90_000_000) | a_minute_later
    (warning,) = rows.warnings_of(next_batch)

    assert warning.kind == "late"
    assert "2 of 6 rows were late, by up to 1 min 30 s," in warning.message
    assert "write(..., late_rows='late')" in warning.message


def test_late_rows_that_a_sink_takes_are_not_warned_of_and_rejected_ones_that_none_takes_are() -> None:
    rows = UnreadRows()
    sink_takes_late_rows = {"unread_late": 0}
    assert list(rows.warnings_of(batch(0, second=0, late=5, **sink_takes_late_rows))) == []
    (warning,) = rows.warnings_of(batch(1, second=0, late=5, rejected=2, **sink_takes_late_rows))
    assert warning.kind == "rejected"
    assert "2 of 12 rows were rejected, up to" in warning.message


def test_where_no_rows_are_late_or_rejected_nothing_is_warned_of() -> None:
    assert list(UnreadRows().warnings_of(batch(0, second=0))) == []


def test_queries_and_runs_count_apart_and_a_micro_batch_counts_once() -> None:
    rows = UnreadRows()
    left = {**UNREAD, "late": 1}
    right = {**UNREAD, "late": 2, "rejected": 4}
    of_two_queries = progress(left=left, right=right) | SPARK_QUERY

    warnings = [(warning.kind, warning.message.partition(":")[0]) for warning in rows.warnings_of(of_two_queries)]
    assert sorted(warnings) == [
        ("late", "left (Spark query d7dbda75)"),
        ("late", "right (Spark query d7dbda75)"),
        ("rejected", "right (Spark query d7dbda75)"),
    ]

    assert list(rows.warnings_of(of_two_queries)) == [], "a micro-batch that was counted before"
    another_run = of_two_queries | {"runId": "again"}
    assert len(list(rows.warnings_of(another_run))) == 3
