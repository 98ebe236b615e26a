"""The bucket side, first half: blobs back to changes by key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import InputChange, Refusal
from muntin_engine.spark.blobs import from_blob
from muntin_engine.spark.job import Job

_TIMES = ("start", "end", "new_end")


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was set aside, in words.

    Attributes:
        is_late: True if it goes to the late rows, false if to the rejected ones.
        reason: Why, in a word or two that can be counted.
        message: Why, with the values.
        row: The row as JSON, by the query's own column names.
    """

    is_late: bool
    reason: str
    message: str
    row: str


@dataclass(slots=True)
class Intake:
    """The rows of one bucket in one micro-batch.

    Attributes:
        changes: The good rows by key, in the order in which they came.
        refused: Those with a problem of their own.
    """

    changes: dict[tuple[Any, ...], list[InputChange]] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)


def take_in(job: Job, blobs: Iterable[bytes]) -> Intake:
    """Return the rows of some blobs."""
    intake = Intake()
    for blob in blobs:
        _take_blob(job, from_blob(blob), intake)
    return intake


def refused_row(job: Job, key: Sequence[Any], refusal: Refusal) -> RefusedRow:
    """Return a row that the evaluator set aside."""
    change = refusal.change
    end = None if change.end == INFINITY else change.end
    kind = "insert" if change.new_end is None else "retract" if change.new_end == change.start else "revise"
    times = {"start": change.start, "end": end, "new_end": change.new_end}
    row = _row(job, kind, change.id, times, key, change.payload)
    return RefusedRow(refusal.is_late, str(refusal.reason), refusal.message, row)


def _take_blob(job: Job, table: pa.Table, intake: Intake) -> None:
    keys = _tuples(table, [f"k{place}" for place in range(job.keys)])
    payloads = _tuples(table, [f"i{place}" for place in range(job.inputs)], job.instants)
    columns = [table.column(name).to_pylist() for name in ("problem", "change", "id", *_TIMES)]
    for key, payload, problem, kind, id, start, end, new_end in zip(keys, payloads, *columns, strict=True):
        if problem is not None:
            times = {"start": start, "end": end, "new_end": new_end}
            row = _row(job, kind, id, times, key, payload)
            intake.refused.append(RefusedRow(False, problem, f"the row has an {problem}" if problem[0] in "aeiou" else f"the row has a {problem}", row))
        elif new_end is None or kind == "insert":
            known_end = INFINITY if end is None else end
            intake.changes.setdefault(key, []).append(InputChange(id, start, known_end, payload))
        else:
            intake.changes.setdefault(key, []).append(InputChange(id, start, end, (), new_end))


def _tuples(table: pa.Table, names: Sequence[str], instants: Sequence[int] = ()) -> Iterable[tuple[Any, ...]]:
    if not names:
        return [()] * table.num_rows
    columns = [table.column(name) for name in names]
    ticks = [column.cast(pa.int64()) if place in instants else column for place, column in enumerate(columns)]
    return zip(*(_hashable(column.to_pylist()) for column in ticks), strict=True)


def _hashable(values: list[Any]) -> list[Any]:
    return values


def _row(
    job: Job, kind: Any, id: Any, times: dict[str, int | None], key: Sequence[Any], payload: Sequence[Any]
) -> str:
    values = dict(zip(job.columns, [*key, *payload], strict=False))
    values |= {"change": kind, "id": id} | {name: _readable(job, tick) for name, tick in times.items()}
    return json.dumps({job.names[name]: value for name, value in values.items() if name in job.names}, default=str)


def _readable(job: Job, tick: int | None) -> Any:
    if tick is None or not EARLIEST < tick < INFINITY or not pa.types.is_timestamp(job.time_type):
        return tick
    return str(pa.scalar(tick, pa.int64()).cast(job.time_type))
