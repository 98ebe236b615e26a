"""Three queries of one stream, each in a pass of its own and all in one pass, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from math import ceil
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import session
from muntin.progress import bounded_delay
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.one_pass import QueryColumns, distribute_to_all
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import collect
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.plan.test_metrics import NUMBERS, Sums, Total
from tests.engine.wire.payloads import task_of


class Row(NamedTuple):
    """A row of the stream: events that last, have ids and may be revised, on a line and at a station."""

    change: str
    line: str | None = None
    station: str | None = None
    id: int | None = None
    start: int | None = None
    end: int | None = None
    new_end: int | None = None
    x: int | None = None


class StreamQuery(NamedTuple):
    """A query of the stream.

    Attributes:
        task: Query in a pass of its own.
        columns: Fields of rows, by the names of the query's projection.
        condition: Condition on the rows that the query reads; None if it reads all.
    """

    task: TaskPayload
    columns: dict[str, str]
    condition: Callable[[Row], bool] | None = None

    def reads(self, row: Row) -> bool:
        """True if the query reads a row."""
        return self.condition is None or self.condition(row)


_CHANGE_COLUMNS: Final = {"start": "since", "end": "until", "id": "id", "change": "what", "new_end": "now", "i0": "x"}
"""The names that the first query gives to the columns of changes, by those of its projection."""

QUERIES: Final = (
    StreamQuery(
        task_of(names={"k0": "line", **_CHANGE_COLUMNS}, has_ids=True, has_changes=True, buckets=4),
        {"k0": "line", "start": "start", "end": "end", "id": "id", "change": "change", "new_end": "new_end", "i0": "x"},
    ),
    StreamQuery(
        task_of(Sums(), evaluator="columnar", is_point=True, results=NUMBERS, has_changes=True, buckets=2),
        {"k0": "station", "start": "start", "change": "change", "i0": "x"},
        lambda row: row.change in ("insert", "punctuate", "close"),
    ),
    StreamQuery(
        task_of(
            Total(), is_point=True, results=NUMBERS, policy=bounded_delay(4), buckets=1, plan={"window": session(3)}
        ),
        {"k0": "line", "start": "start", "i0": "x"},
        lambda row: row.change == "insert" and row.line != "a",
    ),
)
"""The queries differ in keys, lifetimes, windows, progress, evaluator, buckets, and in the rows that they read."""

TASKS: Final = [replace(query.task, place=place) for place, query in enumerate(QUERIES)]
_TYPES: Final = {"change": pa.string(), "line": pa.string(), "station": pa.string()}


def column_of(rows: Sequence[Row], field: str) -> pa.Array:
    """Return a field of rows as an Arrow array."""
    return pa.array([getattr(row, field) for row in rows], _TYPES.get(field, pa.int64()))


def query_rows(query: StreamQuery, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows that a query reads in a pass of its own."""
    rows_read = [row for row in rows if query.reads(row)]
    return pa.record_batch({name: column_of(rows_read, field) for name, field in query.columns.items()})


def _own_columns(query: StreamQuery, place: int) -> QueryColumns:
    condition = None if query.condition is None else f"q{place}"
    return QueryColumns(tuple(query.columns), tuple(query.columns.values()), condition)


OWN_COLUMNS: Final = tuple(_own_columns(query, place) for place, query in enumerate(QUERIES))


def shared_rows(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows as one pass reads them: a column of the stream is there once, whoever reads it."""
    columns = {field: column_of(rows, field) for field in Row._fields}
    for place, query in enumerate(QUERIES):
        columns[f"q{place}"] = pa.array(map(query.reads, rows), pa.bool_())
    return pa.record_batch(columns)


COUNTED: Final = frozenset({"accepted", "late", "shed", "rejected", "filtered"})
"""The counts of rows, by what became of them."""

BucketOutput = list[tuple[str, int, Any]]
"""The stream, number of rows, and decoded rows of each blob."""


def bucket_output(
    task: TaskPayload, bucket: int, cells: MemoryCells, map_output: Sequence[dict[str, Any]]
) -> BucketOutput:
    """Run a bucket over its rows among those of all map tasks."""
    output: BucketOutput = []
    bucket_rows = [row for row in map_output if row["bucket"] == bucket]
    for blob in run_bucket(task, bucket, cells, collect(bucket_rows)):
        rows = None if blob.data is None else from_blob(blob.data).to_pylist()
        output.append((blob.stream, blob.rows, rows))
    return output


@dataclass
class Alone:
    """A query in a pass of its own, with the cells of its buckets; each micro-batch comes to a new process."""

    query: StreamQuery
    cells: dict[int, MemoryCells] = field(default_factory=dict)

    def process(self, tasks: Sequence[Sequence[Row]]) -> dict[int, BucketOutput]:
        """Evaluate a micro-batch, and return the output of each bucket by its place.

        Args:
            tasks: Rows of each map task.
        """
        payload = self.query.task
        map_output: list[dict[str, Any]] = []
        for task_rows in tasks:
            for batch in distribute(payload, [query_rows(self.query, task_rows)]):
                map_output += batch.to_pylist()
        outputs: dict[int, BucketOutput] = {}
        for place, bucket in enumerate(payload.buckets):
            cells = self.cells.setdefault(place, MemoryCells())
            outputs[place] = bucket_output(payload, bucket, cells, map_output)
        return outputs


@dataclass
class Together:
    """All queries in one pass. One table of cells by bucket is the state of all."""

    cells: dict[int, MemoryCells] = field(default_factory=dict)

    def process(self, tasks: Sequence[Sequence[Row]], pieces: int = 1) -> list[dict[int, BucketOutput]]:
        """Evaluate a micro-batch, and return the output of each query by the place of the bucket.

        Args:
            tasks: Rows of each map task.
            pieces: Number of Arrow batches that the rows of a task come in.
        """
        map_output: list[dict[str, Any]] = []
        for task_rows in tasks:
            size = max(1, ceil(len(task_rows) / pieces))
            batches = [shared_rows(task_rows[start : start + size]) for start in range(0, len(task_rows), size)]
            for batch in distribute_to_all(TASKS, OWN_COLUMNS, batches):
                map_output += batch.to_pylist()
        all_buckets = set(chain.from_iterable(payload.buckets for payload in TASKS))
        assert {row["bucket"] for row in map_output} == all_buckets

        outputs: list[dict[int, BucketOutput]] = []
        for payload in TASKS:
            query_outputs: dict[int, BucketOutput] = {}
            for place, bucket in enumerate(payload.buckets):
                cells = self.cells.setdefault(bucket, MemoryCells())
                query_outputs[place] = bucket_output(payload, bucket, cells, map_output)
            outputs.append(query_outputs)
        return outputs


def random_stream(random: Random, batches: int = 5) -> list[list[Row]]:
    """Draw micro-batches of insertions, revisions, retractions, bad and late rows, punctuation; closed at last."""
    stream: list[list[Row]] = []
    live_events: list[Row] = []
    watermark = 0
    ids = count(1)
    for _ in range(batches):
        rows: list[Row] = []
        for _ in range(random.randint(0, 8)):
            start = max(0, watermark + random.randint(-3, 12))
            new_row = Row(
                random.choice(["insert"] * 9 + ["delete"]),  # nothing is called `delete`
                random.choice(["a", "b", None]),
                random.choice(["n", "s", "w"]),
                next(ids),
                start,
                start + random.randint(1, 9),
                x=random.randint(0, 9),
            )
            rows.append(new_row)
            if new_row.change == "insert":
                live_events.append(new_row)

        for event in random.sample(live_events, min(2, len(live_events))):
            live_events.remove(event)
            kind = random.choice(["revise", "retract"])
            start = event.start or 0
            new_end = random.randint(start, max(30, start + 9)) + 1
            rows.append(event._replace(change=kind, x=None, new_end=new_end))

        watermark += random.randint(0, 8)
        rows.append(Row("punctuate", start=watermark))
        random.shuffle(rows)
        stream.append(rows)
    return [*stream, [Row("close")]]


def check_one_pass(seed: int, batches: int = 5) -> int:
    """Run all queries over a random stream, alone and together, and compare after each micro-batch.

    Each micro-batch of the one pass comes to a new process, in random tasks and Arrow batches.

    Returns:
        The number of results of all queries.
    """
    random = Random(seed)
    alone = [Alone(query) for query in QUERIES]
    together = Together()
    result_count = 0
    rows_read = [0] * len(QUERIES)  # by the place of the query
    rows_counted = [0] * len(QUERIES)
    for rows in random_stream(random, batches):
        task_count = random.randint(1, 3)
        tasks = [rows[task::task_count] for task in range(task_count)]
        outputs = [run.process(tasks) for run in alone]
        assert together.process(tasks, pieces=random.randint(1, 3)) == outputs
        together = Together(together.cells)

        event_rows = [row for row in rows if row.change not in ("punctuate", "close")]
        for place, query_outputs in enumerate(outputs):
            rows_read[place] += len(query_rows(QUERIES[place], event_rows))
            for stream, row_count, _ in chain.from_iterable(query_outputs.values()):
                if stream in COUNTED:
                    rows_counted[place] += row_count
                elif stream == "results":
                    result_count += row_count
    assert rows_counted == rows_read, "each row counts once, and nothing waits any more"

    for run, payload in zip(alone, TASKS, strict=True):
        for place, bucket in enumerate(payload.buckets):
            assert together.cells[bucket].cells.keys() == run.cells[place].cells.keys()
    assert len(together.cells) == sum(len(payload.buckets) for payload in TASKS)
    return result_count
