"""The side outputs of late and rejected rows: reasons in words, rows as JSON."""

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
from muntin.axis import decimal_of
from muntin_engine.core.changes import Rejection
from muntin_engine.wire.event_ids import id_value
from muntin_engine.wire.task_payload import InputTask, TaskPayload
from muntin_engine.wire.times import as_times, given_name

_IN_WORDS: Final = ("reason", "message", "row")


def side_output_schema(time_type: pa.DataType, inputs: int) -> pa.Schema:
    """Return the columns of late and rejected rows.

    Args:
        time_type: The type of the times in results: between two timestamps lies an interval, between numbers a number.
        inputs: The number of inputs; if there are several, the first column names that of the row.
    """
    names = _IN_WORDS if inputs == 1 else ("input", *_IN_WORDS)
    late_by = pa.duration("us") if pa.types.is_timestamp(time_type) else time_type
    return pa.schema([*((name, pa.string()) for name in names), ("late_by", late_by)])


@dataclass(frozen=True, slots=True)
class SideOutputRow:
    """A row of a side output.

    Attributes:
        is_late: True for the side output of late rows, which has those that are shed, false for that of rejected rows.
        reason: The reason, in a word or two that can be counted.
        message: The reason, in a sentence.
        row: The row as JSON, by the query's own names for its columns.
        late_by: Its lateness in ticks; None if it is not late, or came after the end of the stream.
        input: The name of its input; empty if it is the only one.
    """

    is_late: bool
    reason: str
    message: str
    row: str
    late_by: int | None = None
    input: str = ""


def side_output_row(task: TaskPayload, key: Sequence[object], rejection: Rejection) -> SideOutputRow:
    """Return the side output of a row that an evaluator rejected."""
    change = rejection.change
    kind = "insert" if change.new_end is None else "retract" if change.new_end == change.start else "revise"
    given = task.inputs[change.side]
    id = change.id if given.columns.id is None else id_value(change.id, given.columns.id)
    values = {"change": kind, "id": id, "start": change.start, "end": change.end, "new_end": change.new_end}
    values["source"] = change.source
    values |= zip(given.key_names + given.payload_names, [*key, *change.payload], strict=True)
    told = (str(rejection.reason), rejection.message, row_as_json(given, values), rejection.late_by)
    return SideOutputRow(rejection.is_late or rejection.is_shed, *told, given.given.name)


def row_as_json(task: InputTask, values: Mapping[str, Any]) -> str:
    """Return the values of a row as JSON, by the query's own names; times are ticks and become readable."""
    times = [name for name in ("start", "end", "new_end") if name in values]
    readable = {name: values.get(given_name(name)) or _time(task, values[name]) for name in times}
    names = task.given.columns.names
    named = {names[name]: value for name, value in (dict(values) | readable).items() if name in names}
    return json.dumps({name: plain_json(value) for name, value in named.items()}, ensure_ascii=False)


def side_output_table(task: TaskPayload, rows: Sequence[SideOutputRow]) -> pa.Table:
    """Return late or rejected rows of a query as a table."""
    *texts, late_by = side_output_schema(task.time_type, len(task.inputs))
    columns = [pa.array([getattr(row, part.name) for row in rows], part.type) for part in texts]
    lateness = as_times(pa.array([row.late_by for row in rows], pa.int64()), late_by.type)
    return pa.table([*columns, lateness], schema=pa.schema([*texts, late_by]))


def _time(task: InputTask, tick: int | None) -> Any:
    if tick is None or tick >= INFINITY:
        return None
    if pa.types.is_decimal(task.query.time_type):
        return decimal_of(tick, task.query.time_type.scale)
    if not pa.types.is_timestamp(task.query.time_type):
        return tick
    try:
        at = moment(tick)
    except OverflowError:  # beyond the years of Python's calendar
        return tick
    return at if task.query.time_type.tz or at is None else at.replace(tzinfo=None)


def plain_json(value: object) -> object:
    """Return a value as JSON can hold it, in the way of Spark's `to_json` where JSON has no word for it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain_json(part) for part in value]
    if isinstance(value, dict):
        return {str(name): plain_json(part) for name, part in value.items()}
    is_json = value is None or isinstance(value, bool | int | float | str)
    return value if is_json and not isinstance(value, timedelta) else str(value)
