"""A scenario's query as a user writes it over tables, through the public API."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

import muntin_engine
from muntin import JoinKind, Module
from muntin_engine import EventStream, ModuleCall, condition, events, from_stream, module, union
from muntin_engine.time.lifetimes import LifetimeChange
from tests.scenarios.columns import PAYLOAD, RESULT, STREAMS, columns_of, id_of
from tests.scenarios.join import Join
from tests.scenarios.lifetimes import length_of
from tests.scenarios.passing import Passing
from tests.scenarios.query import Query

COMPUTED: Final = ("x > 5", "x < -5")
"""Columns that the query computes of `x`, and that the table does not have."""


def tables_of(query: Query | Join, rows_by_stream: Sequence[Sequence[Mapping[str, Any]]]) -> list[pa.Table]:
    """Return the table of each stream, in the order of `query.places`.

    Args:
        query: The query.
        rows_by_stream: The rows of each stream, with their keys, changes, times and payloads.
    """
    tables: list[pa.Table] = []
    for (side, _), rows in zip(query.places, rows_by_stream, strict=True):
        tables.append(_table_of(_side_of(query, side), rows))
    return tables


def _side_of(query: Query | Join, side: int) -> Query:
    """Return the query of one side, as a query of one stream has it."""
    if isinstance(query, Passing):
        return query.stream
    return query.sides[side] if isinstance(query, Join) else query


def _table_of(query: Query, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the rows of a stream as a table that the written query reads.

    Args:
        query: The query of the stream.
        rows: The rows, with their keys, changes, times and payloads.
    """
    lengths = _lengths(query.changes)
    for source_changes in query.sources:
        lengths |= _lengths(source_changes)
    payload_names = [name for name in _payload_names(query) if name not in COMPUTED]

    full_rows: list[dict[str, Any]] = []
    for row in rows:
        payload = row["payload"]
        full_row = {**row, "id": id_of(row.get("id"), query.ids), **columns_of(payload, payload_names)}
        for name, length in lengths.items():
            full_row[name] = None if payload is None else length_of(length, payload)
        full_rows.append(full_row)

    types = _event_columns(query)
    types |= {name: PAYLOAD[name].type for name in payload_names}
    types |= dict.fromkeys(lengths, pa.int64())
    columns: dict[str, pa.Array] = {}
    for name, data_type in types.items():
        columns[name] = pa.array([row.get(name) for row in full_rows], data_type)
    return pa.table(columns)


def is_refused_otherwise(query: Query | Join) -> bool:
    """True if the written query refuses other rows: the events that clip are points there, whatever they were."""
    return isinstance(query, Join) and query.kind is JoinKind.CLIP and query.lifetimes[1] != "points"


def written(query: Query | Join, frames: Sequence[Any], evaluator: str = "auto") -> muntin_engine.Query:
    """Return a query as it is written over tables.

    Args:
        query: The query.
        frames: The table of each stream, in the order of `query.places`.
        evaluator: The evaluator that the query names, or "auto".
    """
    if isinstance(query, Passing):
        stream = _stream(query.stream, frames)
        return stream.to_query(emit="eager" if query.is_eager else "final").select("key", "lifetime", "x")
    if isinstance(query, Join):
        return _written_join(query, frames)
    return _written_windows(query, _stream(query, frames), evaluator)


def _written_join(join: Join, frames: Sequence[Any]) -> muntin_engine.Query:
    """Return a join as it is written over the tables of both sides."""
    frames_by_side: tuple[list[Any], list[Any]] = ([], [])
    for (side, _), frame in zip(join.places, frames, strict=True):
        frames_by_side[side].append(frame)
    left_query, right_query = join.sides
    left_frames, right_frames = frames_by_side
    left = _stream(left_query, left_frames)
    right = _stream(right_query, right_frames)
    return left.join(
        right,
        join.kind,
        left_columns={"left": "x"},
        right_columns={"right": "x"} if join.has_pairs else {},
        on=None if join.on is None else condition(join.on, left="x", right="x"),
        emit="eager" if join.is_eager else "final",
    )


def _written_windows(query: Query, stream: EventStream, evaluator: str) -> muntin_engine.Query:
    """Return a query over windows, or over events one by one, as it is written over a stream."""
    if query.most_held is not None:
        stream = stream.shedding(most_held=query.most_held)
    calls = [_call(each, reads_streams=query.reads_streams) for each in query.modules]
    if not query.is_windowed:
        return stream.apply(calls[0])
    if isinstance(query.window, Mapping):
        windowed = replace(stream.windows(**query.window, timestamps=query.timestamps), clip=query.clip)
    else:
        windowed = stream.window(
            query.window,
            clip=query.clip,
            timestamps=query.timestamps,
            emit=query.emit,
            forget_keys_after=query.forget_keys_after,
            evaluator=evaluator,
        )
    if query.is_operator:
        return windowed.apply(calls[0])
    names = [RESULT, *(f"m{place}" for place in range(1, len(calls)))]
    return windowed.aggregate(**dict(zip(names, calls, strict=True)))


def _call(instance: Module, *, reads_streams: bool) -> ModuleCall:
    """Return the call that makes a module like one of a scenario, which reads the payload."""
    parameters: dict[str, Any] = {}
    for name in inspect.signature(type(instance)).parameters:
        if hasattr(instance, name):
            parameters[name] = getattr(instance, name)
    if reads_streams:
        left = from_stream(STREAMS[0], "left")
        right = from_stream(STREAMS[1], "right")
        return module(type(instance), left=left, right=right, **parameters)
    return module(type(instance), "x", **parameters)


def _stream(query: Query, frames: Sequence[Any]) -> EventStream:
    """Return the events of a side: those of one table, or of a union of several."""
    if not query.sources:
        (frame,) = frames
        stream = _events(query, frame)
    else:
        streams: dict[str, EventStream] = {}
        for name, frame, changes in zip(STREAMS, frames, query.sources, strict=False):
            streams[name] = _changed(_events(query, frame), changes)
        stream = next(iter(streams.values())) if len(streams) == 1 else union(**streams)
    stream = _changed(stream, query.changes)
    return stream.where("is_kept") if query.is_filtered else stream


def _events(query: Query, frame: Any) -> EventStream:
    """Return the rows of a table as the events of a query."""
    columns: dict[str, Any] = {"key": ["key", "key1"][: query.keys], "change": "change"}
    if query.lifetimes in ("intervals", "named"):
        columns |= {"start": "start", "end": "end"}
    else:
        columns["at"] = "start"
    if query.has_ids:
        columns |= {"id": "id", "new_end": "new_end"}
    if query.has_order:
        columns["order"] = "order"
    if query.signals:
        columns["signal"] = "signal"
    if query.keys > 1:
        columns["key_ranges"] = {"key": ("low0", "high0"), "key1": ("low1", "high1")}
    return events(
        frame,
        **columns,
        edge=query.lifetimes == "samples",
        watermark=query.progress,
        late_policy=query.late,
        buckets=3,
    )


def _event_columns(query: Query) -> dict[str, pa.DataType]:
    """Return the columns of a table that make its rows events, and their types."""
    columns: dict[str, pa.DataType] = {"change": pa.string(), "key": pa.string(), "start": pa.int64()}
    if query.lifetimes in ("intervals", "named"):
        columns["end"] = pa.int64()
    if query.has_ids:
        columns |= {"id": query.ids, "new_end": pa.int64()}
    if query.keys > 1:
        columns |= {"key1": pa.int64(), "low0": pa.string(), "high0": pa.string()}
        columns |= {"low1": pa.int64(), "high1": pa.int64()}
    if query.signals:
        columns["signal"] = pa.string()
    return columns


def _changed(stream: EventStream, changes: Sequence[LifetimeChange]) -> EventStream:
    """Change the lifetimes of events; no public call makes some of the changes that scenarios have."""
    return replace(stream, lifetime_changes=(*stream.lifetime_changes, *changes))


def _lengths(changes: Sequence[LifetimeChange]) -> dict[str, Any]:
    """Return the columns of lengths by which lifetimes change, by their names."""
    lengths: dict[str, Any] = {}
    for change in changes:
        if change.length is not None and not isinstance(change.length, int):
            lengths[change.length.name] = change.length
    return lengths


def _payload_names(query: Query) -> list[str]:
    names = [*query.payload]
    if query.is_filtered:
        names.append("is_kept")
    return names
