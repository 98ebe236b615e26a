"""The state in a checkpoint as a DataFrame, while its query runs and afterwards, and the command that shows it."""

from __future__ import annotations

import json
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
from muntin_engine import Query, events, module, one_pass, queries, read_state
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
    """Run `muntin state`, and return its output, or its error."""
    result = CliRunner().invoke(app, ["state", *map(str, arguments)], prog_name="muntin")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout or result.stderr


def described(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return rows as their query, kind, key, seconds, value, number of events and micro-batch."""
    described_rows = []
    for row in rows:
        key = json.loads(row.key)["tail"]
        start = int(row.start.replace(tzinfo=UTC).timestamp())
        end = int(row.end.replace(tzinfo=UTC).timestamp())
        value = json.loads(row.value or "null")
        described_rows.append((row.query, row.kind, key, start, end, value, row.events, row.batch))
    return described_rows


def test_state_is_read_while_the_query_runs_and_as_text(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "check point"
    query = totals(stream_of(spark, tmp_path / "input", BATCHES), evaluator="general", emit=EmitPolicy.SPECULATIVE)
    with pytest.raises(StateError, match="has no micro-batch that was committed"):
        read_state(spark, checkpoint)
    running = query.write(checkpoint=checkpoint, results=tmp_path / "results")
    try:
        running.processAllAvailable()
        rows = read_state(spark, checkpoint).orderBy("key", "kind", "start").collect()
        of_a = json.loads(command_output(checkpoint, "--key", "tail=a", "--json"))
        text = command_output(checkpoint, "--key", "b", "--limit", 1)
        (listed,) = [entry for entry in queries(spark) if entry.run_id == str(running.runId)]
        assert running.isActive
        shows_itself: Any = running
        shown_in_notebook = shows_itself._repr_html_()
    finally:
        running.stop()
    assert listed.last is not None
    assert {name: (source.rows, source.watermark) for name, source in listed.last.sources.items()} == {
        "a": (2, 6 * SECOND),
        "b": (0, -3 * SECOND),
    }
    assert "the source 'b' is at 1969-12-31 23:59:57, and silent since micro-batch 0 at" in listed.held_back_by[0]
    assert "the source &#x27;b&#x27; is at 1969-12-31 23:59:57" in shown_in_notebook
    assert described(rows) == [
        *(("0", "event", "a", at, at, {"x": at}, 1, 1) for at in (1, 3, 11)),
        ("0", "result", "a", 0, 10, [4], None, 1),
        ("0", "window", "a", 0, 10, None, 2, 1),
        ("0", "event", "b", 2, 2, {"x": 2}, 1, 1),
        ("0", "result", "b", 0, 10, [2], None, 1),
        ("0", "window", "b", 0, 10, None, 1, 1),
    ]
    assert next((row["kind"], row["key"], row["value"]) for row in of_a) == ("result", {"tail": "a"}, [4])
    assert text.splitlines() == [
        "kind    key            start                end                  events  value  batch",
        'result  {"tail": "b"}  1970-01-01 00:00:00  1970-01-01 00:00:10          [2]    1',
        "",
        "1 row, and more: --limit 10 shows them",
    ]


@pytest.mark.nightly
def test_states_of_a_pass_are_told_by_their_queries_and_what_is_no_such_checkpoint_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = stream_of(spark, tmp_path / "input", BATCHES)
    queries = one_pass(first=totals(stream, evaluator="sliced"), second=totals(stream, evaluator="grouped"))
    checkpoint = tmp_path / "checkpoint"
    results = {name: tmp_path / name for name in ("first", "second")}
    queries.write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()
    rows = read_state(spark, checkpoint).orderBy("query", "key", "start", "batch").collect()
    assert described(rows) == [
        ("first", "slice", "a", 0, 10, 1, 1, 0),
        ("first", "slice", "a", 0, 10, 3, 1, 1),
        ("first", "slice", "a", 10, 20, 11, 1, 1),
        ("first", "slice", "b", 0, 10, 2, 1, 0),
        *(("second", "event", "a", at, at, {"x": at}, 1, batch) for at, batch in ((1, 0), (3, 1), (11, 1))),
        ("second", "event", "b", 2, 2, {"x": 2}, 1, 0),
    ]
    assert {(row.module, row.version) for row in rows} == {("test.merged_total(x)", "2.1.0"), (None, None)}

    damaged = copytree(checkpoint, tmp_path / "damaged")
    for file in (damaged / "state").rglob("*.changelog"):
        file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(StateError, match=r"is damaged\n  state/0/0/2.changelog is cut short"):
        read_state(spark, damaged)
    plain = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "plain"))
    plain.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(StateError, match="has no state of Muntin's"):
        read_state(spark, tmp_path / "plain")
    queries.close_checkpoint(checkpoint, results=results)
    with pytest.raises(StateError, match="is closed"):
        read_state(spark, checkpoint)
    assert command_output(checkpoint).startswith(f"muntin: the checkpoint {checkpoint} is closed")
