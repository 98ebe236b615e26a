"""All evaluators through Spark give the same results, which are the reference's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from muntin import INFINITY, Event, Module, hopping, snapshot, tumbling
from muntin.testing import Computation, WindowedQuery, evaluate
from muntin.windows import WindowKind
from muntin_engine import Query, events, module
from tests.differential.forms import FORMS, INVERTIBLE, Given
from tests.spark.running import (
    collect_together,
    read_stream,
    run_together,
    stream_of,
    write_batches,
)

WINDOWS = {"tumbling": tumbling(10), "overlapping": hopping(9, 4, 1), "gaps": hopping(3, 7)}
ASKED = (*FORMS["all"], Given())
EVALUATORS: tuple[Literal["columnar", "general"], ...] = ("columnar", "general")
KEYS = ["a", "b", None, "c", "d"]


def rows(seed: int, batches: int) -> list[pa.Table]:
    """Return micro-batches of insertions, out of order by up to five ticks, and at last the end of the stream."""
    random = Random(seed)
    found = []
    for batch in range(batches):
        starts = [batch * 15 + random.randint(-20, -5) for _ in range(40)]
        found.append([row(random, max(start, (batch - 1) * 15 - 20)) for start in starts])
    found.append([{"change": "close"}])
    names = ("change", "key", "start", "end", "payload")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    return [pa.Table.from_pylist(batch, pa.schema(list(zip(names, types, strict=True)))) for batch in found]


def ending(batches: list[pa.Table]) -> list[pa.Table]:
    """Return micro-batches of which the last brings rows and the end of the stream."""
    return [*batches[:-2], pa.concat_tables(batches[-2:], promote_options="default")]


def row(random: Random, start: int) -> dict[str, Any]:
    end = start + random.choice([1, 2, 5, 30])
    payload = None if random.random() < 0.1 else random.randint(-9, 9)
    return {"change": "insert", "key": random.choice(KEYS), "start": start, "end": end, "payload": payload}


def queries(df: DataFrame) -> dict[tuple[str, str, bool], Query]:
    """Return every evaluator over overlapping windows, the columnar one over points in gaps and tumbling lifetimes too.

    That they agree over windows of every ratio is shown without Spark, in `tests/scenarios`.
    """
    calls = {f"m{place}": module(type(form), "payload") for place, form in enumerate(ASKED)}
    found = {}
    for is_point, evaluators in (
        (True, ("columnar", "sliced", "grouped", "general")),
        (False, ("columnar", "general")),
    ):
        times: dict[str, Any] = {"at": "start"} if is_point else {"start": "start", "end": "end"}
        stream = events(df, key="key", change="change", buckets=2, **times)
        others = "gaps" if is_point else "tumbling"
        for name, evaluator in (*product(["overlapping"], evaluators), (others, "columnar")):
            found[name, evaluator, is_point] = stream.window(WINDOWS[name], evaluator=evaluator).aggregate(**calls)
    return found


def expected(
    window: WindowKind, tables: list[pa.Table], *, is_point: bool, complete_to: int = INFINITY
) -> Counter[Any]:
    query = WindowedQuery(window, [Computation(form, accepts=accepted_by(form)) for form in ASKED])
    inserted = [row for table in tables for row in table.to_pylist() if row["change"] == "insert"]
    found: Counter[Any] = Counter()
    for key in KEYS:
        mine = [row for row in inserted if row["key"] == key]
        history = [Event(row["start"], row["start"] + 1 if is_point else row["end"], row["payload"]) for row in mine]
        for out in evaluate(query, history, complete_to):
            found[key, out.window.start, out.window.end, _frozen(out.value)] += 1
    return found


def accepted_by(form: Module) -> Callable[[Any], bool]:
    """Return whether a module is given a payload."""
    return (lambda payload: payload is not None) if isinstance(form, Given) else (lambda payload: True)


def _frozen(values: Any) -> Any:
    return tuple(map(_frozen, values)) if isinstance(values, list | tuple) else values


def found(rows: list[dict[str, Any]]) -> Counter[Any]:
    def key(row: dict[str, Any]) -> Any:
        values = [row[f"m{place}"] for place in range(len(ASKED))]
        return row["key"], row["window"]["start"], row["window"]["end"], _frozen(values)

    return Counter(map(key, rows))


def test_all_evaluators_give_the_results_of_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    batches = ending(rows(1, 2))
    stream, whole = stream_of(spark, tmp_path / "stream", batches), spark.read.parquet(str(tmp_path / "stream"))
    asked, again = queries(stream), queries(whole)
    streamed = run_together({str(of): query for of, query in asked.items()}, tmp_path / "checkpoint")
    at_once = collect_together({str(of): query for of, query in again.items() if of[0] == "overlapping" and of[2]})
    assert (len(streamed), len(at_once)) == (8, 4)
    for name, evaluator, is_point in asked:
        of = str((name, evaluator, is_point))
        wanted = expected(WINDOWS[name], batches, is_point=is_point)
        assert wanted
        assert found(streamed[of]) == wanted, of
        assert of not in at_once or found(at_once[of]) == wanted, of


def test_after_a_restart_the_same_rows_are_late_for_all_evaluators(spark: SparkSession, tmp_path: Path) -> None:
    batches = [*rows(3, 2)[:-1], *rows(3, 1)[:-1]]  # the last batch repeats the times of the first
    window, calls = (
        WINDOWS["overlapping"],
        {f"m{place}": module(type(form), "payload") for place, form in enumerate(ASKED)},
    )
    output: dict[str, list[dict[str, Any]]] = {"columnar": [], "general": []}
    for count in (1, 3):
        folder = write_batches(tmp_path / "stream", batches[:count])
        stream = events(read_stream(spark, folder), key="key", at="start", delay=5, buckets=2)
        asked: dict[str, Query] = {one: stream.window(window, evaluator=one).aggregate(**calls) for one in EVALUATORS}
        for name, some in run_together(asked, tmp_path / "checkpoint").items():
            output[name] += some
    known = max(row["start"] for batch in batches for row in batch.to_pylist()) - 5
    wanted = expected(window, batches[:2], is_point=True, complete_to=known)
    assert len(wanted) > 20
    assert {name: found(rows) == wanted for name, rows in output.items()} == {"columnar": True, "general": True}


def test_several_windows_are_several_queries(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", rows(4, 2)[:-1])
    stream = events(spark.read.parquet(str(folder)), key="key", at="start", buckets=4)
    call = module(type(FORMS["statistics"][0]), "payload")
    named: dict[str, Any] = {"short": tumbling(6), "long": hopping(20, 15, -1)}
    asked = {name: stream.window(window).aggregate(m0=call) for name, window in named.items()}
    answers = collect_together({"both": stream.windows(**named).aggregate(m0=call), **asked})
    together = answers.pop("both")
    alone = [{"window_name": name} | row for name, rows in answers.items() for row in rows]
    assert sorted(map(_in_order, together)) == sorted(map(_in_order, alone))
    assert {row["window_name"] for row in together} == set(named)


def _in_order(row: dict[str, Any]) -> str:
    return str(sorted(row.items(), key=lambda item: item[0]))


def test_snapshots_and_events_with_ids_on_arrays_are_those_of_the_general_evaluator(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = [rows(3, 2)[1], *ending(rows(3, 1))]  # most of the last rows are late
    stream = stream_of(spark, tmp_path / "stream", [revised(table, seed) for seed, table in enumerate(batches)])
    calls = {f"m{place}": module(type(form), "payload") for place, form in enumerate(INVERTIBLE["several"])}
    columns: dict[str, Any] = {"key": "key", "start": "start", "end": "end", "change": "change", "buckets": 2}
    ids: dict[str, Any] = {"id": "id", "new_end": "new_end"}
    known = {
        "lasting": events(stream, **columns, delay=5),  # which rejects revisions
        "revised": events(stream, **columns, delay=5, **ids),
    }
    asked = {
        f"{named} {name}": some.window(snapshot(), evaluator=name).aggregate(**calls)
        for named, some in known.items()
        for name in ("auto", "general")
    }
    hops = {
        name: events(stream, **columns, delay=40, **ids)
        .window(hopping(10, 4), emit="speculative", evaluator=name)
        .aggregate(**calls)
        for name in ("auto", "general")
    }
    assert "columnar: all modules have a columnar form" in str(asked["lasting auto"].explain())
    assert "its start and its end are sorted" in str(asked["revised auto"].explain())
    streamed = run_together(asked | hops, tmp_path / "checkpoint")
    for named in known:
        assert sorted(map(str, streamed[f"{named} auto"])) == sorted(map(str, streamed[f"{named} general"]))
        assert len(streamed[f"{named} auto"]) > 20
    assert "the range of windows that it overlaps" in str(hops["auto"].explain())
    changes = {name: Counter(str(row | {"event_id": None}) for row in streamed[name]) for name in hops}
    assert changes["auto"] == changes["general"]
    assert {row["change"] for row in streamed["auto"]} == {"insert", "retract"}
    assert set(map(_output_event, streamed["auto"])) == {
        _output_event(row) for row in streamed["auto"] if row["change"] == "insert"
    }
    assert streamed["lasting auto"] != streamed["revised auto"]


def _output_event(row: dict[str, Any]) -> tuple[Any, Any]:
    return row["key"], row["event_id"]


def revised(table: pa.Table, seed: int) -> pa.Table:
    """Return rows with ids, and among them some that revise or delete what others insert."""
    random, found = Random(seed), list[dict[str, Any]]()
    for place, row in enumerate(table.to_pylist()):
        found.append({**row, "id": f"{seed} {place}"})
        if row["change"] == "insert" and random.random() < 0.5:
            new_end = row["start"] + random.choice((0, 3, 9, 40))
            expected = random.choice((None, row["end"]))
            found.append({**found[-1], "change": "revise", "end": expected, "payload": None, "new_end": new_end})
    fields = [*table.schema, pa.field("id", pa.string()), pa.field("new_end", pa.int64())]
    return pa.Table.from_pylist(random.sample(found, len(found)), pa.schema(fields))
