"""The state in a checkpoint as a DataFrame, while its query runs and afterwards, and the command that shows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from typer.testing import CliRunner

from muntin import EmitPolicy, tumbling
from muntin_cli import app
from muntin_engine import Query, RunningQuery, events, module, one_pass, queries, read_state
from muntin_engine.errors import StateError
from tests.journeys.running import stream_of, table_of
from tests.scenarios.feed import Merged

SECOND = 1_000_000
SCHEMA = pa.schema([("tail", pa.string()), ("at", pa.timestamp("us", "UTC")), ("x", pa.int64())])
#              0        10       20
# micro-batch 0  1 2
# micro-batch 1   3     11             the watermark of source a passes 6, that of b stays where it was
BATCHES = [
    table_of(SCHEMA, [("a", 1 * SECOND, 1), ("b", 2 * SECOND, 2)]),
    table_of(SCHEMA, [("a", 3 * SECOND, 3), ("a", 11 * SECOND, 11)]),
]


def totals(stream: DataFrame, *, evaluator: str, **options: Any) -> Query:
    keyed = events(stream, key="tail", at="at", watermark="5 seconds", source="tail", sources=["a", "b"], buckets=2)
    windows = keyed.window(tumbling("10 seconds"), evaluator=evaluator, **options)
    return windows.aggregate(total=module(Merged, "x"))


def command_output(*arguments: object) -> str:
    """Run `muntin state`, and return what it prints, or its error if it prints nothing."""
    result = CliRunner().invoke(app, ["state", *map(str, arguments)], prog_name="muntin")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout or result.stderr


def described(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return rows of state as (query, kind, key, start, end, value, events, batch), with times in seconds."""
    described_rows = []
    for row in rows:
        key = json.loads(row.key)["tail"]
        start = int(row.start.replace(tzinfo=UTC).timestamp())
        end = int(row.end.replace(tzinfo=UTC).timestamp())
        value = json.loads(row.value or "null")
        described_rows.append((row.query, row.kind, key, start, end, value, row.events, row.batch))
    return described_rows


@dataclass
class Observations:
    """What was seen of a query while it ran.

    Attributes:
        rows: The state, by `read_state`.
        json_of_a: The state of key a, by the command.
        text_of_b: One row of the state of key b, by the command.
        entry: The query in the list of running queries.
        html: The query as a notebook shows it.
    """

    rows: list[Row]
    json_of_a: str
    text_of_b: str
    entry: RunningQuery
    html: str


@pytest.fixture(scope="module")
def observations(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Observations:
    """A query with early results, when it has read the stream and runs on."""
    folder = tmp_path_factory.mktemp("running")
    checkpoint = folder / "check point"
    query = totals(stream_of(spark, folder / "input", BATCHES), evaluator="general", emit=EmitPolicy.SPECULATIVE)
    running: Any = query.write(checkpoint=checkpoint, results=folder / "results")
    try:
        running.processAllAvailable()
        (entry,) = [entry for entry in queries(spark) if entry.run_id == str(running.runId)]
        observations = Observations(
            rows=read_state(spark, checkpoint).orderBy("key", "kind", "start").collect(),
            json_of_a=command_output(checkpoint, "--key", "tail=a", "--json"),
            text_of_b=command_output(checkpoint, "--key", "b", "--limit", 1),
            entry=entry,
            html=running._repr_html_(),
        )
        assert running.isActive
    finally:
        running.stop()
    return observations


def test_the_state_of_a_running_query_has_its_events_its_live_results_and_its_windows(
    observations: Observations,
) -> None:
    assert described(observations.rows) == [
        # query, kind, key, start, end, value, events, batch
        ("0", "event", "a", 1, 1, {"x": 1}, 1, 1),
        ("0", "event", "a", 3, 3, {"x": 3}, 1, 1),
        ("0", "event", "a", 11, 11, {"x": 11}, 1, 1),
        ("0", "result", "a", 0, 10, [4], None, 1),
        ("0", "window", "a", 0, 10, None, 2, 1),
        ("0", "event", "b", 2, 2, {"x": 2}, 1, 1),
        ("0", "result", "b", 0, 10, [2], None, 1),
        ("0", "window", "b", 0, 10, None, 1, 1),
    ]


def test_the_command_shows_the_state_of_a_key_as_json_or_as_a_table(observations: Observations) -> None:
    results_of_a = [row for row in json.loads(observations.json_of_a) if row["kind"] == "result"]
    assert [(row["key"], row["value"]) for row in results_of_a] == [({"tail": "a"}, [4])]
    assert observations.text_of_b.splitlines() == [
        "kind    key            start                end                  events  value  batch",
        'result  {"tail": "b"}  1970-01-01 00:00:00  1970-01-01 00:00:10          [2]    1',
        "",
        "1 row, and more: --limit 10 shows them",
    ]


def test_a_running_query_names_the_silent_source_that_holds_it_back(observations: Observations) -> None:
    entry = observations.entry
    assert entry.last is not None
    progress_of_sources = {name: (source.rows, source.watermark) for name, source in entry.last.sources.items()}
    assert progress_of_sources == {"a": (2, 6 * SECOND), "b": (0, -3 * SECOND)}
    held_back_by, *_ = entry.held_back_by
    assert "the source 'b' is at 1969-12-31 23:59:57, and silent since micro-batch 0 at" in held_back_by
    assert "the source &#x27;b&#x27; is at 1969-12-31 23:59:57" in observations.html


def test_a_checkpoint_without_a_micro_batch_has_no_state_to_read(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="has no micro-batch that was committed"):
        read_state(spark, tmp_path / "checkpoint")


def run_two_queries(stream: DataFrame, folder: Path, *, closes: bool = False) -> Path:
    """Have two queries read a stream in one pass, and return their checkpoint."""
    both = one_pass(first=totals(stream, evaluator="sliced"), second=totals(stream, evaluator="grouped"))
    places: dict[str, Any] = {
        "checkpoint": folder / "checkpoint",
        "results": {"first": folder / "first", "second": folder / "second"},
    }
    both.write(**places, available_now=True).awaitTermination()
    if closes:
        both.close_checkpoint(**places)
    return folder / "checkpoint"


@pytest.fixture(scope="module")
def checkpoint_of_two(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two queries")
    return run_two_queries(stream_of(spark, folder / "input", BATCHES), folder)


@pytest.mark.nightly
def test_states_of_one_pass_are_told_apart_by_the_names_of_its_queries(
    spark: SparkSession, checkpoint_of_two: Path
) -> None:
    rows = read_state(spark, checkpoint_of_two).orderBy("query", "key", "start", "batch").collect()
    assert described(rows) == [
        # query, kind, key, start, end, value, events, batch
        ("first", "slice", "a", 0, 10, 1, 1, 0),
        ("first", "slice", "a", 0, 10, 3, 1, 1),
        ("first", "slice", "a", 10, 20, 11, 1, 1),
        ("first", "slice", "b", 0, 10, 2, 1, 0),
        ("second", "event", "a", 1, 1, {"x": 1}, 1, 0),
        ("second", "event", "a", 3, 3, {"x": 3}, 1, 1),
        ("second", "event", "a", 11, 11, {"x": 11}, 1, 1),
        ("second", "event", "b", 2, 2, {"x": 2}, 1, 0),
    ]
    # Slices are states of the module; events are of none.
    assert {(row.module, row.version) for row in rows} == {("test.merged_total(x)", "2.1.0"), (None, None)}


@pytest.mark.nightly
def test_state_that_is_cut_short_is_refused(spark: SparkSession, checkpoint_of_two: Path, tmp_path: Path) -> None:
    damaged = copytree(checkpoint_of_two, tmp_path / "damaged")
    for file in (damaged / "state").rglob("*.changelog"):
        file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(StateError, match=r"is damaged\n  state/0/0/2.changelog is cut short"):
        read_state(spark, damaged)


@pytest.mark.nightly
def test_a_checkpoint_without_state_of_muntin_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "input", BATCHES)
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(StateError, match="has no state of Muntin's"):
        read_state(spark, tmp_path / "checkpoint")


@pytest.mark.nightly
def test_a_closed_checkpoint_has_no_state_to_read(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = run_two_queries(stream_of(spark, tmp_path / "input", BATCHES), tmp_path, closes=True)
    with pytest.raises(StateError, match="is closed"):
        read_state(spark, checkpoint)
    assert command_output(checkpoint).startswith(f"muntin: the checkpoint {checkpoint} is closed")
