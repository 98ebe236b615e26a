"""What observes queries attaches itself, and Spark's part tells each observer of every query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.backends.observed_queries import OBSERVERS, QueryObserver, QueryObservers
from muntin_engine.backends.spark.foreach_batch import written_query
from muntin_engine.backends.spark.session import session_listener
from muntin_engine.monitoring.observer import Warner
from tests.engine.monitoring.test_metrics_listener import seconds
from tests.modules.members import Members


class NotingObserver(QueryObserver):
    """Keeps the numbers of the micro-batches and the runs that ended."""

    def __init__(self) -> None:
        self.batches: Queue[int] = Queue()
        self.ended: Queue[str] = Queue()

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        self.batches.put(int(progress["batchId"]))

    def on_end(self, run: str) -> None:
        self.ended.put(run)

    def html(self, query: Any, *, is_active: bool) -> str:
        return f"<p>it runs: {is_active}</p>"


def test_what_gives_warnings_observes_every_query() -> None:
    assert Warner in {type(observer) for observer in OBSERVERS.all()}


def test_an_observer_is_made_once_and_when_it_is_asked_for() -> None:
    observers = QueryObservers()
    made_observers: list[QueryObserver] = []

    def make_observer() -> QueryObserver:
        made_observers.append(NotingObserver())
        return made_observers[-1]

    observers.attach(make_observer)
    assert made_observers == []

    assert list(observers.all()) == made_observers
    assert list(observers.all()) == made_observers
    assert len(made_observers) == 1


def test_an_observer_is_told_of_a_query_and_shows_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = NotingObserver()
    observers = QueryObservers()
    observers.attach(lambda: observer)
    monkeypatch.setattr(written_query, "OBSERVERS", observers)
    monkeypatch.setattr(session_listener, "OBSERVERS", observers)

    rows = seconds(spark, tmp_path / "input", [[1, 2]])  # one micro-batch
    windows = events(rows, at="at", watermark="5 seconds").window(tumbling("10 seconds"))
    query = windows.aggregate(n=module(Members, "x"))
    running = query.write(checkpoint=tmp_path / "checkpoint", results=str(tmp_path / "results"), available_now=True)
    running.awaitTermination()

    assert observer.batches.get(timeout=60) == 0
    assert observer.ended.get(timeout=60) == str(running.runId)
    assert "<p>it runs: False</p>" in running._repr_html_()  # type: ignore[attr-defined]  # notebooks ask
