"""Rows that were set aside, in words and as JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from muntin import INFINITY, moment
from muntin_engine.core.changes import Refusal
from muntin_engine.exchange.task_payload import TaskPayload

REFUSED: Final = pa.schema(
    [("reason", pa.string()), ("message", pa.string()), ("row", pa.string()), ("late_by", pa.int64())]
)
"""The columns of late and rejected rows."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was set aside.

    Attributes:
        is_late: True if it goes to the late rows, false if to the rejected ones.
        reason: Why, in a word or two that can be counted.
        message: Why, in a sentence.
        row: The row as JSON, by the query's own names for its columns.
        late_by: How late it is, in ticks; None if it is not, or came after the end of the stream.
    """

    is_late: bool
    reason: str
    message: str
    row: str
    late_by: int | None = None


def refused_row(task: TaskPayload, key: Sequence[Any], refusal: Refusal) -> RefusedRow:
    """Return a row that the evaluator set aside."""
    change = refusal.change
    kind = "insert" if change.new_end is None else "retract" if change.new_end == change.start else "revise"
    values = {"change": kind, "id": change.id, "start": change.start, "end": change.end, "new_end": change.new_end}
    values["source"] = change.source
    values |= zip(task.key_names + task.input_names, [*key, *change.payload], strict=True)
    row = row_as_json(task, values)
    return RefusedRow(refusal.is_late, str(refusal.reason), refusal.message, row, refusal.late_by)


def row_as_json(task: TaskPayload, values: Mapping[str, Any]) -> str:
    """Return the values of a row as JSON, by the query's own names; times are ticks and become readable."""
    readable = {name: _time(task, values[name]) for name in ("start", "end", "new_end") if name in values}
    names = task.plan.columns.names
    named = {names[name]: value for name, value in (dict(values) | readable).items() if name in names}
    return json.dumps({name: _plain(value) for name, value in named.items()}, ensure_ascii=False)


def refused_table(rows: Sequence[RefusedRow]) -> pa.Table:
    """Return late or rejected rows as a table."""
    columns = [pa.array([getattr(row, part.name) for row in rows], part.type) for part in REFUSED]
    return pa.table(columns, schema=REFUSED)


def _time(task: TaskPayload, tick: int | None) -> Any:
    if tick is None or tick >= INFINITY:
        return None
    if not pa.types.is_timestamp(task.time_type):
        return tick
    try:
        at = moment(tick)
    except OverflowError:  # beyond the years of Python's calendar
        return tick
    return at if task.time_type.tz or at is None else at.replace(tzinfo=None)


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it, in the way of Spark's `to_json` where JSON has no word for it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    is_json = value is None or isinstance(value, bool | int | float | str)
    return value if is_json and not isinstance(value, timedelta) else str(value)
