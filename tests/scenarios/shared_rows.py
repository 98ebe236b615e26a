"""Three queries of one stream, asked alone and in one pass, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import session
from muntin.progress import bounded_delay
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.one_pass import OwnColumns, distribute_to_all
from muntin_engine.tasks.output_blobs import OutputBlob
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


class Asked(NamedTuple):
    """A query, and what it takes of the stream.

    Attributes:
        task: The query, as it is asked alone.
        columns: The fields of rows, by the names of its projection.
        takes: Says which rows are its own; None if all are.
    """

    task: TaskPayload
    columns: dict[str, str]
    takes: Callable[[Row], bool] | None = None


_CHANGED: Final = {"start": "since", "end": "until", "id": "id", "change": "what", "new_end": "now", "i0": "x"}
QUERIES: Final = (
    Asked(
        task_of(names={"k0": "line", **_CHANGED}, has_ids=True, has_changes=True, buckets=4),
        {"k0": "line", "start": "start", "end": "end", "id": "id", "change": "change", "new_end": "new_end", "i0": "x"},
    ),
    Asked(
        task_of(Sums(), evaluator="columnar", is_point=True, results=NUMBERS, has_changes=True, buckets=2),
        {"k0": "station", "start": "start", "change": "change", "i0": "x"},
        lambda row: row.change in ("insert", "punctuate", "close"),
    ),
    Asked(
        task_of(
            Total(), is_point=True, results=NUMBERS, policy=bounded_delay(4), buckets=1, plan={"window": session(3)}
        ),
        {"k0": "line", "start": "start", "i0": "x"},
        lambda row: row.change == "insert" and row.line != "a",
    ),
)
"""They differ in keys, lifetimes, windows, progress, evaluator and buckets, and in the rows that they take."""

TASKS: Final = [replace(asked.task, place=place) for place, asked in enumerate(QUERIES)]
_TYPES: Final = {"change": pa.string(), "line": pa.string(), "station": pa.string()}


def arrow(values: Iterable[Any], name: str) -> pa.Array:
    return pa.array(list(values), _TYPES.get(name, pa.int64()))


def own_rows(asked: Asked, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows that a query reads when it is asked alone."""
    own = [row for row in rows if asked.takes is None or asked.takes(row)]
    columns = {name: arrow((getattr(row, part) for row in own), part) for name, part in asked.columns.items()}
    return pa.record_batch(columns)


OWNED: Final = tuple(
    OwnColumns(tuple(asked.columns), tuple(asked.columns.values()), None if asked.takes is None else f"q{place}")
    for place, asked in enumerate(QUERIES)
)


def shared_rows(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows as one pass reads them: a column of the stream is there once, whoever reads it."""
    columns = {name: arrow((getattr(row, name) for row in rows), name) for name in Row._fields}
    for place, asked in enumerate(QUERIES):
        columns[f"q{place}"] = pa.array([asked.takes is None or asked.takes(row) for row in rows], pa.bool_())
    return pa.record_batch(columns)


COUNTED: Final = frozenset({"accepted", "late", "shed", "rejected", "filtered"})
"""The counts of what becomes of a row."""

Told = list[tuple[str, int, Any]]


def told(blobs: Iterable[OutputBlob]) -> Told:
    return [(blob.stream, blob.rows, None if blob.data is None else from_blob(blob.data).to_pylist()) for blob in blobs]


@dataclass
class Alone:
    """A query of its own, with the cells of its buckets; each micro-batch is as a new process takes it."""

    asked: Asked
    cells: dict[int, MemoryCells] = field(default_factory=dict)

    def take(self, parts: Sequence[Sequence[Row]]) -> dict[int, Told]:
        """Evaluate a micro-batch whose rows come in several tasks; return the output of each bucket by its place."""
        task = self.asked.task
        sent = [
            row for part in parts for out in distribute(task, [own_rows(self.asked, part)]) for row in out.to_pylist()
        ]
        return {
            place: told(
                run_bucket(
                    task,
                    bucket,
                    self.cells.setdefault(place, MemoryCells()),
                    collect(row for row in sent if row["bucket"] == bucket),
                )
            )
            for place, bucket in enumerate(task.buckets)
        }


@dataclass
class Together:
    """All queries in one pass. One table of cells by bucket is the state of all."""

    cells: dict[int, MemoryCells] = field(default_factory=dict)

    def take(self, parts: Sequence[Sequence[Row]], pieces: int = 1) -> list[dict[int, Told]]:
        """Evaluate a micro-batch and return the output of each query; a task's rows come in several Arrow batches."""
        sent = []
        for part in parts:
            size = -(-len(part) // pieces) or 1
            batches = [shared_rows(part[start : start + size]) for start in range(0, len(part), size)]
            sent += [row for out in distribute_to_all(TASKS, OWNED, batches) for row in out.to_pylist()]
        assert {row["bucket"] for row in sent} == {bucket for task in TASKS for bucket in task.buckets}
        return [
            {
                place: told(
                    run_bucket(
                        task,
                        bucket,
                        self.cells.setdefault(bucket, MemoryCells()),
                        collect(row for row in sent if row["bucket"] == bucket),
                    )
                )
                for place, bucket in enumerate(task.buckets)
            }
            for task in TASKS
        ]


def random_stream(random: Random, batches: int = 5) -> list[list[Row]]:
    """Return micro-batches of insertions, revisions, retractions, bad and late rows, punctuation; closed at last."""
    stream: list[list[Row]] = []
    living: list[Row] = []
    now = 0
    number = 0
    for _ in range(batches):
        rows: list[Row] = []
        for _ in range(random.randint(0, 8)):
            start = max(0, now + random.randint(-3, 12))
            number += 1
            inserted = Row(
                random.choice(["insert"] * 9 + ["delete"]),
                random.choice(["a", "b", None]),
                random.choice(["n", "s", "w"]),
                number,
                start,
                start + random.randint(1, 9),
                x=random.randint(0, 9),
            )
            rows.append(inserted)
            living += [inserted] if inserted.change == "insert" else []
        for event in random.sample(living, min(2, len(living))):
            living.remove(event)
            changed = event._replace(change=random.choice(["revise", "retract"]), x=None)
            start = event.start or 0
            rows.append(changed._replace(new_end=random.randint(start, max(30, start + 9)) + 1))
        now += random.randint(0, 8)
        rows.append(Row("punctuate", start=now))
        random.shuffle(rows)
        stream.append(rows)
    return [*stream, [Row("close")]]


def check_one_pass(seed: int, batches: int = 5) -> int:
    """Ask all queries of a random stream, alone and together, and compare after each micro-batch.

    Each micro-batch of the pass is as a new process takes it, in random tasks and Arrow batches.

    Returns:
        The number of results of all queries.
    """
    random = Random(seed)
    alone = [Alone(asked) for asked in QUERIES]
    together = Together()
    results = 0
    uncounted = [0] * len(QUERIES)
    for rows in random_stream(random, batches):
        parts = random.randint(1, 3)
        cut = [rows[part::parts] for part in range(parts)]
        wanted = [query.take(cut) for query in alone]
        assert together.take(cut, pieces=random.randint(1, 3)) == wanted
        together = Together(together.cells)
        for place, (asked, of) in enumerate(zip(QUERIES, wanted, strict=True)):
            uncounted[place] += len(own_rows(asked, [row for row in rows if row.change not in ("punctuate", "close")]))
            uncounted[place] -= sum(count for blobs in of.values() for name, count, _ in blobs if name in COUNTED)
        results += sum(
            rows for of in wanted for blobs in of.values() for stream, rows, _ in blobs if stream == "results"
        )
    assert uncounted == [0] * len(QUERIES), "each row counts once, and nothing waits any more"
    for query, task in zip(alone, TASKS, strict=True):
        for place, bucket in enumerate(task.buckets):
            assert together.cells[bucket].cells.keys() == query.cells[place].cells.keys()
    assert len(together.cells) == sum(len(task.buckets) for task in TASKS)
    return results
