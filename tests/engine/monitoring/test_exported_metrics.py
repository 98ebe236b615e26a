"""Metrics in the forms of Prometheus and OpenTelemetry, read by their own parsers and readers, and logs as JSON."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
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
FIRST_BATCH: dict[str, Any] = {
    "accepted": 90,
    "late": 10,
    "late_by": MINUTE,
    "rows_north": 100,
    "late_north": 10,
    "newest": EIGHT,
    "watermark": EIGHT - MINUTE,
    "watermark_north": EIGHT - MINUTE,
    "state_bytes": 500,
    "bytes_written": 500,
    "evaluate_us": 250_000,
    "module_us:longest": 125_000,
}
SECOND_BATCH: dict[str, Any] = {
    "accepted": 50,
    "rows_north": 50,
    "newest": EIGHT + MINUTE,
    "watermark": EIGHT,
    "watermark_north": EIGHT,
    "state_bytes": None,  # it is not known
    "module_us:longest": 125_000,
}


def metrics_of_rides(**constants: Any) -> list[BatchMetrics]:
    """Return the metrics of the two micro-batches above, of a query `rides`, each with some constants besides."""
    reports = [progress(number, rides=counts | constants) for number, counts in enumerate((FIRST_BATCH, SECOND_BATCH))]
    return [batch_metrics(report)["rides"] for report in reports]


def test_a_counter_does_not_go_down_where_samples_replace_those_of_earlier_batches() -> None:
    registry = CollectorRegistry()
    export = prometheus_metrics(registry)
    for accepted in (3, -1, 2):  # the second batch replaces a sample and adds none
        export(BatchMetrics(query="levels", batch=1, accepted=accepted, rejected=1))

    labels = {"query": "levels", "query_id": ""}
    assert registry.get_sample_value("muntin_accepted_rows_total", labels) == 3 + 0 + 2
    assert registry.get_sample_value("muntin_rejected_rows_total", labels) == 1 + 1 + 1


def test_prometheus_reads_counters_that_add_up_and_gauges_of_the_last_value_in_base_units() -> None:
    registry = CollectorRegistry()
    export = prometheus_metrics(registry)
    for metrics in metrics_of_rides():
        export(metrics)

    families = list(text_string_to_metric_families(generate_latest(registry).decode()))
    names = {family.name for family in families if not family.name.endswith("_created")}
    assert names == {metric.name for metric in EXPORTED}

    # by name, and where it has one, by the label for a module or source
    values: dict[tuple[str, ...], float] = {}
    for family in families:
        for sample in family.samples:
            if sample.labels.get("query") == "rides" and not sample.name.endswith("_created"):
                labels = [sample.labels[label] for label in ("module", "source") if label in sample.labels]
                values[sample.name, *labels] = sample.value

    # counters
    assert values["muntin_micro_batches_total",] == 2
    assert values["muntin_accepted_rows_total",] == 90 + 50
    assert values["muntin_micro_batch_seconds_total",] == 0.5 + 0.5
    assert values["muntin_source_rows_total", "north"] == 100 + 50
    assert values["muntin_source_late_rows_total", "north"] == 10
    assert values["muntin_module_seconds_total", "longest"] == 0.125 + 0.125

    # gauges
    assert values["muntin_state_bytes",] == 500, "the last that is known"
    assert values["muntin_watermark_lag_seconds",] == 60
    assert values["muntin_late_by_seconds",] == 60
    assert values["muntin_watermark_timestamp_seconds",] == EIGHT / 1e6
    assert values["muntin_source_watermark_timestamp_seconds", "north"] == EIGHT / 1e6
    assert ("muntin_watermark_lag_ticks",) not in values


def test_where_ticks_are_no_time_lengths_are_in_ticks() -> None:
    registry = CollectorRegistry()
    first_batch = metrics_of_rides(time_axis=0)[0]
    prometheus_metrics(registry)(first_batch)

    labels = {"query": "rides", "query_id": ""}
    assert registry.get_sample_value("muntin_watermark_lag_ticks", labels) == MINUTE
    assert registry.get_sample_value("muntin_watermark_lag_seconds", labels) is None
    assert registry.get_sample_value("muntin_watermark_timestamp_seconds", labels) is None


def test_every_metric_has_a_name_of_its_own_in_the_form_that_prometheus_asks_for() -> None:
    units_in_names = ("seconds", "bytes", "ticks")
    for metric in EXPORTED:
        assert re.fullmatch(r"muntin_[a-z_]+[a-z]", metric.name)
        if metric.unit in units_in_names:
            assert metric.name.endswith(f"_{metric.unit}")
        assert not metric.name.endswith("_total"), "the client adds it to counters"

    assert len(EXPORTED) > 30
    assert len({metric.name for metric in EXPORTED}) == len(EXPORTED)
    assert len(set(map(otel_name, EXPORTED))) == len(EXPORTED)


def test_opentelemetry_gets_the_same_values_with_their_units_beside_the_names() -> None:
    reader = InMemoryMetricReader()
    export = opentelemetry_metrics(MeterProvider([reader]))
    for metrics in metrics_of_rides():
        export(metrics)

    data: Any = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    assert scope.scope.name == "muntin"
    units = {metric.name: metric.unit for metric in scope.metrics}
    points = {metric.name: metric.data.data_points for metric in scope.metrics}

    assert units["muntin.accepted_rows"] == "{rows}"
    (accepted,) = points["muntin.accepted_rows"]
    assert accepted.value == 90 + 50
    assert dict(accepted.attributes) == {"query": "rides", "query_id": ""}

    assert units["muntin.state"] == "By"
    (state,) = points["muntin.state"]
    assert state.value == 500

    assert units["muntin.module_time"] == "s"
    module_time = points["muntin.module_time"][0]
    assert module_time.value == 0.125 + 0.125
    assert module_time.attributes["module"] == "longest"

    assert units["muntin.watermark_lag"] == "s"
    assert points["muntin.watermark_lag"][0].value == 60


def test_the_board_for_grafana_queries_only_metrics_and_labels_that_are_exported() -> None:
    text = files("muntin_engine.monitoring").joinpath("grafana.json").read_text(encoding="utf-8")
    queried_metrics = set(re.findall(r"\bmuntin_\w+", text))
    exported_metrics = {f"{metric.name}_total" if metric.is_counter else metric.name for metric in EXPORTED}
    assert len(queried_metrics) > 10
    assert queried_metrics <= exported_metrics

    # A query says `sum by (query, module)`, and a legend `{{module}}`.
    shown_labels: set[str] = set()
    for grouping, legend in re.findall(r"by \(([^)]*)\)|{{(\w+)}}", text):
        shown_labels.update(re.findall(r"\w+", f"{grouping} {legend}"))
    exported_labels = {metric.label for metric in EXPORTED}
    assert shown_labels <= {"query", "query_id"} | exported_labels


def test_each_panel_of_the_board_for_grafana_has_an_id_of_its_own() -> None:
    board = json.loads(files("muntin_engine.monitoring").joinpath("grafana.json").read_text(encoding="utf-8"))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_an_exporter_whose_library_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(needing, "import_module", missing)
    with pytest.raises(SetupError, match=r"pip install 'muntin-engine\[prometheus\]'"):
        prometheus_metrics()
    with pytest.raises(SetupError, match=r"pip install 'muntin-engine\[opentelemetry\]'"):
        opentelemetry_metrics()


@pytest.fixture
def json_log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger, and the text to which it writes its records as JSON."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("tests.metrics")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, text
    logger.removeHandler(handler)


def test_a_micro_batch_is_a_line_of_json_with_its_metrics(json_log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = json_log
    log = log_metrics(logger)
    for metrics in metrics_of_rides():
        log(metrics)

    first, second = map(json.loads, text.getvalue().splitlines())
    assert first["message"] == "rides: micro-batch 0, 90 rows, 0 results"
    assert first["level"] == "INFO"
    assert first["batch"] == 0
    assert first["late"] == 10
    assert first["state_bytes"] == 500
    assert first["modules"] == {"longest": 0.125}
    assert "state_bytes" not in second, "it is not known"


def test_an_exception_is_a_line_of_json_with_its_traceback(json_log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = json_log
    try:
        raise ValueError("no")
    except ValueError:
        logger.exception("it failed\nwith two lines")

    (record,) = map(json.loads, text.getvalue().splitlines())
    assert record["message"] == "it failed\nwith two lines"
    assert "ValueError: no" in record["exception"]
