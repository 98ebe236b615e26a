"""Conditions on what a query reports: what exceeds them is said, once when it begins and once when it ends."""

from __future__ import annotations

import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from muntin.errors import QueryError
from muntin_engine import BatchMetrics, MetricsListener, alert
from muntin_engine.monitoring.alerts import AlertChanges
from tests.engine.monitoring.queries import progress

MINUTE = 60_000_000


def test_each_limit_that_is_exceeded_is_a_sentence() -> None:
    batch = BatchMetrics(
        query="rides", batch=1, accepted=90, late=10, newest=30 * MINUTE, watermark=0, seconds=4.0, state_bytes=5000
    )
    limits = alert(lag="10 minutes", late_share=0.05, rejected_share=0.01, seconds=10, state_bytes=2000, keys_held=5)

    # No row was rejected, 4 seconds are below 10, and how many keys are held is not known.
    assert limits.exceeded(batch) == {
        "lag": "lag is 30 min, above 10 min",
        "late_share": "late_share is 0.1, above 0.05",
        "state_bytes": "state_bytes is 5.0 kB, above 2.0 kB",
    }


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param({}, id="none"),
        pytest.param({"lagg": 3}, id="unknown name"),
        pytest.param({"late_share": "much"}, id="text for a number"),
        pytest.param({"late_share": True}, id="truth for a number"),
        pytest.param({"lag": "a while"}, id="no length of time"),
    ],
)
def test_what_is_no_limit_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        alert(**limits)


def test_a_listener_logs_when_a_limit_begins_and_ceases_to_be_exceeded(caplog: pytest.LogCaptureFixture) -> None:
    lags_in_minutes = [1, 20, 20, 1]
    received: list[BatchMetrics] = []
    listener = MetricsListener(received.append, alerts=[alert(lag="15 minutes")])

    with caplog.at_level(logging.INFO, "muntin.alerts"):
        for number, lag in enumerate(lags_in_minutes):
            metrics = {"newest": 30 * MINUTE, "watermark": (30 - lag) * MINUTE}
            report = json.dumps(progress(number, rides=metrics))
            event: Any = SimpleNamespace(progress=SimpleNamespace(json=report))
            listener.onQueryProgress(event)

    assert [metrics.batch for metrics in received] == [0, 1, 2, 3]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "rides: lag is 20 min, above 15 min, in micro-batch 1"),
        ("INFO", "rides: lag is below its limit again, in micro-batch 3"),
    ]


def test_a_limit_whose_value_is_unknown_in_a_batch_stays_exceeded() -> None:
    changes = AlertChanges([alert(lag="15 minutes")])
    batches = [
        BatchMetrics(query="rides", batch=0, newest=30 * MINUTE, watermark=0),
        BatchMetrics(query="rides", batch=1),  # without rows there is no watermark
        BatchMetrics(query="rides", batch=2, newest=30 * MINUTE, watermark=0),
        BatchMetrics(query="rides", batch=3, newest=30 * MINUTE, watermark=29 * MINUTE),
    ]
    messages = [change.message for metrics in batches for change in changes.changes_of(metrics)]
    assert messages == [
        "rides: lag is 30 min, above 15 min, in micro-batch 0",
        "rides: lag is below its limit again, in micro-batch 3",
    ]


def test_the_changes_of_a_batch_come_in_the_order_of_the_limits() -> None:
    changes = AlertChanges([alert(late=1, rejected=1, shed=1), alert(filtered=1, evicted=1)])
    names = ["late", "rejected", "shed", "filtered", "evicted"]
    above = BatchMetrics(query="rides", batch=0, late=2, rejected=2, shed=2, filtered=2, evicted=2)
    below = BatchMetrics(query="rides", batch=1)
    for metrics in (above, below):
        assert [change.message.split()[1] for change in changes.changes_of(metrics)] == names
