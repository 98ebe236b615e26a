"""The side outputs of late and rejected rows: reasons in words, rows as JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import pyarrow as pa

from muntin import INFINITY, moment
from muntin.axis import decimal_of
from muntin_engine.time.changes import InputChange, Rejection
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.event_ids import id_value
from muntin_engine.wire.task_payload import InputTask, TaskPayload
from muntin_engine.wire.times import as_times, far_time_name

_TEXT_COLUMNS: Final = ("reason", "message", "row")
"""The columns of a side output that are text, after that of the input."""


def side_output_schema(time_type: pa.DataType, inputs: int) -> pa.Schema:
    """Return the schema of late and rejected rows.

    Args:
        time_type: The type of the times in results. If these are timestamps, the lateness of a row is an interval;
            otherwise it is a number of the same type.
        inputs: The number of inputs. If there are several, the first column names the input of the row.
    """
    columns = [(name, pa.string()) for name in _TEXT_COLUMNS]
    if inputs > 1:
        columns.insert(0, ("input", pa.string()))
    length_type = pa.duration("us") if pa.types.is_timestamp(time_type) else time_type
    return pa.schema([*columns, ("late_by", length_type)])


@dataclass(frozen=True, slots=True)
class SideOutputRow:
    """A row of a side output.

    Attributes:
        is_late: True if the row goes to the side output of late and shed rows, False for that of rejected rows.
        reason: The reason, in a word or two that can be counted.
        message: The reason, in a sentence.
        row: The row as JSON, by the query's names for its columns.
        late_by: The lateness of the row in ticks; None if it is not late, or came after the end of the stream.
        input: The name of the row's input; empty if it is the only one.
    """

    is_late: bool
    reason: str
    message: str
    row: str
    late_by: int | None = None
    input: str = ""


def side_output_row(task: TaskPayload, key: Sequence[object], rejection: Rejection) -> SideOutputRow:
    """Return the row of a side output for a row that an evaluator rejected.

    Args:
        task: The query.
        key: The key of the row.
        rejection: The row, and the reason for which it was rejected.
    """
    change = rejection.change
    input_task = task.inputs[change.side]
    id_type = input_task.columns.id
    values: dict[str, Any] = {
        "change": _change_name(change),
        "id": change.id if id_type is None else id_value(change.id, id_type),
        "start": change.start,
        "end": change.end,
        "new_end": change.new_end,
        "source": change.source,
    }
    values |= zip(input_task.key_names, key, strict=True)
    values |= zip(input_task.payload_names, change.payload, strict=True)
    return SideOutputRow(
        is_late=rejection.is_late or rejection.is_shed,
        reason=str(rejection.reason),
        message=rejection.message,
        row=row_as_json(input_task, values),
        late_by=rejection.late_by,
        input=input_task.plan_input.name,
    )


def _change_name(change: InputChange) -> str:
    """Return the name of a change, as the column `change` of rows has it."""
    if change.new_end is None:
        return "insert"
    if change.new_end == change.start:
        return "retract"
    return "revise"


def row_as_json(input_task: InputTask, values: Mapping[str, Any]) -> str:
    """Write the values of a row as JSON, under the query writer's names for the columns.

    Args:
        input_task: The input of the row.
        values: The values by the names of projected columns, with times as ticks; these are written as times.
    """
    readable = dict(values)
    for name in ("start", "end", "new_end"):
        if name in values:
            # A time beyond what ticks can count lies in another column, as it came.
            readable[name] = values.get(far_time_name(name)) or _time(input_task, values[name])

    names = input_task.plan_input.columns.names
    named_values: dict[str, object] = {}
    for name, value in readable.items():
        if name in names:  # others are of no column of the query
            named_values[names[name]] = plain_json(value)
    return json.dumps(named_values, ensure_ascii=False)


def side_output_table(task: TaskPayload, rows: Sequence[SideOutputRow]) -> pa.Table:
    """Return late or rejected rows of a query as a table."""
    schema = side_output_schema(task.time_type, len(task.inputs))
    columns: list[pa.Array] = []
    for part in schema:
        values = [getattr(row, part.name) for row in rows]
        if part.name == "late_by":
            columns.append(as_times(arrow_array(values, pa.int64()), part.type))
        else:
            columns.append(arrow_array(values, part.type))
    return pa.table(columns, schema=schema)


def _time(input_task: InputTask, tick: int | None) -> Any:
    """Return a tick as a time of the query's type; None for no tick, and for a tick that never comes."""
    if tick is None or tick >= INFINITY:
        return None
    time_type = input_task.query.time_type
    if pa.types.is_decimal(time_type):
        return decimal_of(tick, time_type.scale)
    if not pa.types.is_timestamp(time_type):
        return tick
    try:
        time = moment(tick)
    except OverflowError:  # beyond the years of Python's calendar
        return tick
    if time is None or time_type.tz:
        return time
    return time.replace(tzinfo=None)


def plain_json(value: object) -> object:
    """Return a value as JSON can hold it. Where JSON has no such value, it is written as by Spark's `to_json`."""
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
    return value if is_json else str(value)
