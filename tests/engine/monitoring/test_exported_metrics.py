"""Metrics in the forms of Prometheus and OpenTelemetry, read by their own parsers and readers, and logs as JSON."""

from __future__ import annotations

import io
import json
import logging
import re
from importlib.resources import files
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from muntin_engine import (
    BatchMetrics,
    JsonFormatter,
    batch_metrics,
    log_metrics,
    opentelemetry_metrics,
    prometheus_metrics,
)
from muntin_engine import needed as needing
from muntin_engine.errors import SetupError
from muntin_engine.monitoring.exported_metrics import EXPORTED
from muntin_engine.monitoring.opentelemetry import otel_name
from tests.engine.monitoring.queries import progress

EIGHT = 1_714_550_400_000_000
MINUTE = 60_000_000
BATCHES: list[dict[str, Any]] = [
    {"accepted": 90, "late": 10, "late_by": MINUTE, "state_bytes": 500, "bytes_written": 500, "rows_north": 100,
     "late_north": 10, "newest": EIGHT, "watermark": EIGHT - MINUTE, "watermark_north": EIGHT - MINUTE,
     "evaluate_us": 250_000, "module_us:longest": 125_000},
    {"accepted": 50, "state_bytes": None, "newest": EIGHT + MINUTE, "watermark": EIGHT, "watermark_north": EIGHT,
     "rows_north": 50, "module_us:longest": 125_000},
]  # fmt: skip


def reported_metrics(**metrics: Any) -> list[BatchMetrics]:
    return [
        batch_metrics(progress(place, rides={**counts, **metrics}))["rides"] for place, counts in enumerate(BATCHES)
    ]


def test_a_counter_does_not_go_down_where_samples_replace_those_of_earlier_batches() -> None:
    registry = CollectorRegistry()
    take = prometheus_metrics(registry)
    for accepted in (3, -1, 2):
        take(BatchMetrics(query="levels", batch=1, accepted=accepted, rejected=1))
    labels = {"query": "levels", "query_id": ""}
    assert registry.get_sample_value("muntin_accepted_rows_total", labels) == 5
    assert registry.get_sample_value("muntin_rejected_rows_total", labels) == 3


def test_prometheus_reads_counters_that_add_up_and_gauges_of_the_last_value_in_base_units() -> None:
    registry = CollectorRegistry()
    take = prometheus_metrics(registry)
    for metrics in reported_metrics():
        take(metrics)
    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    named = {family.name for family in families if not family.name.endswith("_created")}
    assert named == {metric.name for metric in EXPORTED}
    values: dict[tuple[str, ...], float] = {}
    for family in families:
        for sample in family.samples:
            if sample.labels.get("query") == "rides" and not sample.name.endswith("_created"):
                labels = [sample.labels[label] for label in ("module", "source") if label in sample.labels]
                values[sample.name, *labels] = sample.value
    assert values["muntin_micro_batches_total",] == 2
    assert values["muntin_accepted_rows_total",] == 140
    assert values["muntin_micro_batch_seconds_total",] == 1.0
    assert values["muntin_source_rows_total", "north"] == 150
    assert values["muntin_source_late_rows_total", "north"] == 10
    assert values["muntin_module_seconds_total", "longest"] == 0.25
    assert values["muntin_state_bytes",] == 500, "the last that is known"
    assert values["muntin_watermark_lag_seconds",] == 60
    assert values["muntin_late_by_seconds",] == 60
    assert values["muntin_watermark_timestamp_seconds",] == EIGHT / 1e6
    assert values["muntin_source_watermark_timestamp_seconds", "north"] == EIGHT / 1e6
    assert ("muntin_watermark_lag_ticks",) not in values


def test_where_ticks_are_no_time_lengths_are_in_ticks() -> None:
    registry = CollectorRegistry()
    prometheus_metrics(registry)(reported_metrics(time_axis=0)[0])
    labels = {"query": "rides", "query_id": ""}
    assert registry.get_sample_value("muntin_watermark_lag_ticks", labels) == MINUTE
    assert registry.get_sample_value("muntin_watermark_lag_seconds", labels) is None
    assert registry.get_sample_value("muntin_watermark_timestamp_seconds", labels) is None


def test_every_metric_is_named_as_prometheus_asks_for() -> None:
    units = ("seconds", "bytes", "ticks")
    for metric in EXPORTED:
        assert re.fullmatch(r"muntin_[a-z_]+[a-z]", metric.name)
        assert metric.unit not in units or metric.name.endswith(f"_{metric.unit}"), metric
        assert not metric.name.endswith("_total"), "the client adds it to counters"
    assert len({metric.name for metric in EXPORTED}) == len(EXPORTED) > 30
    assert len(set(map(otel_name, EXPORTED))) == len(EXPORTED)


def test_opentelemetry_gets_the_same_with_units_apart() -> None:
    reader = InMemoryMetricReader()
    take = opentelemetry_metrics(MeterProvider([reader]))
    for metrics in reported_metrics():
        take(metrics)
    data: Any = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    assert scope.scope.name == "muntin"
    values = {metric.name: (metric.unit, metric.data.data_points) for metric in scope.metrics}
    unit, points = values["muntin.accepted_rows"]
    assert (unit, [point.value for point in points]) == ("{rows}", [140])
    assert dict(points[0].attributes) == {"query": "rides", "query_id": ""}
    unit, points = values["muntin.state"]
    assert (unit, [point.value for point in points]) == ("By", [500])
    unit, points = values["muntin.module_time"]
    assert (unit, points[0].value, points[0].attributes["module"]) == ("s", 0.25, "longest")
    unit, points = values["muntin.watermark_lag"]
    assert (unit, points[0].value) == ("s", 60)


def test_the_board_for_grafana_shows_what_is_exported_alone() -> None:
    board = json.loads(files("muntin_engine.monitoring").joinpath("grafana.json").read_text(encoding="utf-8"))
    exposed = {f"{metric.name}_total" if metric.is_counter else metric.name for metric in EXPORTED}
    queried = set(re.findall(r"\bmuntin_\w+", json.dumps(board)))
    assert len(queried) > 10
    assert queried <= exposed
    labels = {"query", "query_id", *(metric.label for metric in EXPORTED)}
    shown_labels: set[str] = set()
    for grouping, legend in re.findall(r"by \(([^)]*)\)|{{(\w+)}}", json.dumps(board)):
        shown_labels.update(re.findall(r"\w+", f"{grouping} {legend}"))
    assert shown_labels <= labels
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_an_exporter_whose_library_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(needing, "import_module", missing)
    with pytest.raises(SetupError, match=r"pip install 'muntin-engine\[prometheus\]'"):
        prometheus_metrics()
    with pytest.raises(SetupError, match=r"pip install 'muntin-engine\[opentelemetry\]'"):
        opentelemetry_metrics()


def test_a_micro_batch_is_a_line_of_json_with_its_metrics() -> None:
    stream = io.StringIO()
    logger = logging.getLogger("tests.metrics")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        take = log_metrics(logger)
        for metrics in reported_metrics():
            take(metrics)
        try:
            raise ValueError("no")
        except ValueError:
            logger.exception("it failed\nwith two lines")
    finally:
        logger.removeHandler(handler)
    first, second, failed = map(json.loads, stream.getvalue().splitlines())
    assert (first["message"], first["level"]) == ("rides: micro-batch 0, 90 rows, 0 results", "INFO")
    assert (first["batch"], first["late"], first["state_bytes"], first["modules"]) == (0, 10, 500, {"longest": 0.125})
    assert "state_bytes" not in second, "it is not known"
    assert failed["message"] == "it failed\nwith two lines"
    assert "ValueError: no" in failed["exception"]
