"""Evaluators on arrays in memory, for restart tests: keys and ids are integers, and each module reads one input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Event, TimestampPolicy, Window
from muntin.columnar.payloads import part_of
from muntin.columnar.results import python_values
from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, ArrayQuery
from muntin_engine.evaluators.arrays.array_query import ArrayWork
from muntin_engine.evaluators.arrays.bound_form import BoundForm, bound_forms
from muntin_engine.evaluators.arrays.lifting import Rows, lift_each
from muntin_engine.evaluators.arrays.results import EVENT_ID, Closed, form_results
from muntin_engine.evaluators.arrays.stretch_table import ROWS
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.pairing.pair_store import SIDES, pair_query
from muntin_engine.modules.calls import Meter
from muntin_engine.plan.evaluator_query import evaluator_query
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.store_cache import StoreCache
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Progress, canonical
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.input_report import InputReport
from muntin_engine.wire.task_payload import grids_of

_SCALARS: Final[Mapping[ScalarKind, pa.DataType]] = {
    ScalarKind.BOOLEAN: pa.bool_(),
    ScalarKind.INTEGER: pa.int64(),
    ScalarKind.FLOAT: pa.float64(),
    ScalarKind.STRING: pa.string(),
    ScalarKind.BINARY: pa.binary(),
    ScalarKind.DECIMAL: pa.decimal128(38, 18),
    ScalarKind.DATE: pa.date32(),
    ScalarKind.TIMESTAMP: pa.timestamp("us", "UTC"),
    ScalarKind.INTERVAL: pa.duration("us"),
    ScalarKind.INSTANT: pa.int64(),
}


def column_of(field: Field, payloads: Sequence[object]) -> pa.Array:
    """Return payloads of a type without type variables as a column.

    Example:
        >>> from muntin.schemas import describe
        >>> column_of(describe(tuple[int, float | None]), [(1, 2.5), (2, None)]).to_pylist()
        [{'_1': 1, '_2': 2.5}, {'_1': 2, '_2': None}]
    """
    return pa.array([_plain(field.type, payload) for payload in payloads], _type_of(field.type))


def _type_of(kind: DataType) -> pa.DataType:
    if isinstance(kind, Scalar):
        return _SCALARS[kind.kind]
    if isinstance(kind, ListOf):
        return pa.list_(_type_of(kind.element.type))
    if isinstance(kind, MapOf):
        return pa.map_(_type_of(kind.key.type), _type_of(kind.value.type))
    if isinstance(kind, Struct):
        return pa.struct([pa.field(part.name, _type_of(part.type)) for part in kind.fields])
    raise TypeError(f"{kind} has no column type")


def _plain(kind: DataType, value: Any) -> Any:
    """Return a value as Arrow takes it: records as dicts, maps as pairs."""
    if value is None or isinstance(kind, Scalar):
        return value
    if isinstance(kind, ListOf):
        return [_plain(kind.element.type, part) for part in value]
    if isinstance(kind, MapOf):
        return [(_plain(kind.key.type, key), _plain(kind.value.type, part)) for key, part in value.items()]
    if isinstance(kind, Struct):
        parts = enumerate(kind.fields)
        return {part.name: _plain(part.type, part_of(value, part.name, place)) for place, part in parts}
    raise TypeError(f"{kind} has no column type")


class ResultRow(NamedTuple):
    """A result of a window of a key, or a change of one."""

    key: Key
    window: Window
    value: Any
    id: int | None = None
    kind: OutputKind = OutputKind.INSERT


class ArraysInMemory:
    """A bucket around cells, which keeps decoded state between micro-batches, as a worker does.

    Attributes:
        evicted: Nothing: windows have no second output.
    """

    evicted: Sequence[tuple[Key, OutputChange]] = ()

    def __init__(
        self,
        plan: Plan,
        lift: Callable[[Key, InputChange], Iterable[bytes]],
        run: Callable[[Sequence[bytes], Progress], Sequence[Any]],
        rows: Callable[[Any], Iterable[ResultRow]],
    ) -> None:
        """Take the parts of an evaluator.

        Args:
            plan: The query.
            lift: Returns a row as the map side sends it.
            run: Evaluates a micro-batch, and returns its output.
            rows: Returns the rows of an output.
        """
        self._lift, self._run, self._rows = lift, run, rows
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        output = self._run([blob for key, row in rows for blob in self._lift(key, row)], arrived)
        return [self._change(row) for some in output for row in self._rows(some)]

    def _change(self, row: ResultRow) -> tuple[Key, OutputChange]:
        key, window, value, id, kind = row
        start, end = (window.end, window.end + 1) if self._at_end else (window.start, window.end)
        if isinstance(value, Event):
            start, end, value = value.start, value.end, value.payload
        return key, OutputChange(kind, window.start if id is None else id, window, start, end, value)


def windows_in_memory(plan: Plan, cells: Cells, codec: Codec) -> ArraysInMemory:
    """Return the evaluator of a query as a new process has it.

    Forms read columns of the types that their modules take; other payloads are of any type, and travel packed.
    """
    meters = [Meter() for _ in plan.modules]
    forms = bound_forms(plan, meters)
    work = ArrayWork(
        plan,
        evaluator_query(plan, meters),
        forms,
        grids_of(plan),
        codec,
        partial(_packed, forms, codec),
        _unpacked(codec),
    )

    def lift(key: Key, row: InputChange) -> Iterator[bytes]:
        keys = [pa.array([part], pa.int64() if part is None else None) for part in key]
        return _bytes(work.arrivals.lift_one(row, keys, list(columns_of(row))))

    def columns_of(row: InputChange) -> Iterator[pa.Array]:
        if forms:
            known = (module.known[0] for module in plan.modules)
            return (column_of(field, [value]) for field, value in zip(known, row.payload, strict=True))
        return (pa.array([codec.pack(value)], pa.binary()) for value in row.payload)

    rows = partial(_rows, forms, codec) if forms else partial(_value_rows, is_operator=plan.is_operator)
    return ArraysInMemory(plan, lift, _runner(plan, work.arrivals.in_buckets(), cells, codec), rows)


def pairs_in_memory(plan: Plan, cells: Cells, codec: Codec) -> ArraysInMemory:
    """Return the evaluator of pairs of a query as a new process has it; keys and payloads of any type travel packed."""
    join = plan.join
    assert join is not None, "the planner gives it joins alone"
    columns, on, unpack = join.columns, join.on, codec.unpack
    condition = None if on is None else lambda *both: on(*(unpack(packed) for (packed,) in both))

    def lift_row(key: Key, row: InputChange) -> Iterator[bytes]:
        packed = [pa.array([codec.pack(list(part))], pa.binary()) for part in (canonical(key), row.payload)]
        ends = np.array([INFINITY if row.end is None else row.end], np.int64)
        rows = Rows(1, np.array([row.start], np.int64), ends, packed[:1], packed[1:])
        return _bytes(lift_each(1, rows, packed=[bytes([row.side])]))

    def rows_of(pairs: Closed) -> Iterator[ResultRow]:
        sides = [map(unpack, pairs.windows.parts[part].table.column(0).to_pylist()) for part in SIDES]
        extents = zip(pairs.windows.low.tolist(), pairs.windows.high.tolist(), strict=True)
        for key, extent, *both in zip(pairs.keys.column(0).to_pylist(), extents, *sides, strict=True):
            values = tuple(both[column.side][column.place] for column in columns)
            yield ResultRow(tuple(unpack(key)), Window(*extent), values)

    return ArraysInMemory(plan, lift_row, _runner(plan, pair_query(condition), cells, codec), rows_of)


def _runner(plan: Plan, query: ArrayQuery, cells: Cells, codec: Codec) -> Callable[..., Sequence[Closed]]:
    trackers = [ProgressTracker(steps=steps_of(plan)) for _ in plan.inputs]
    bucket = ArrayBucket(query, trackers, cells, codec, plan_compatibility(plan), StoreCache(), "bucket")
    return lambda blobs, arrived: bucket.run_batch(blobs, [InputReport(arrived)] * len(trackers)).outcome.output


def _bytes(blobs: Iterable[BucketBlob]) -> Iterator[bytes]:
    return (blob.blob for blob in blobs)


def _unpacked(codec: Codec) -> Callable[[pa.ChunkedArray], list[Any]]:
    return lambda column: list(map(codec.unpack, column.to_pylist()))


def _packed(forms: Sequence[BoundForm], codec: Codec, closed: Closed) -> pa.Table:
    """Return the results of windows as columns of bytes: they are of any type."""
    results = (python_values(form_results(form, place, closed.windows)) for place, form in enumerate(forms))
    columns = ([codec.pack(value) for value in values] for values in results)
    return pa.table({f"i{place}": pa.array(values, pa.binary()) for place, values in enumerate(columns)})


def _rows(forms: Sequence[BoundForm], codec: Codec, closed: Closed) -> Iterator[ResultRow]:
    windows = closed.windows
    if EVENT_ID not in windows.parts:
        results = [python_values(form_results(form, place, windows)) for place, form in enumerate(forms)]
        yield from _each_row(closed, zip(*results, strict=True), is_operator=False)
        return
    columns = [map(codec.unpack, column.to_pylist()) for column in windows.parts[ROWS].table.columns]
    rows = _each_row(closed, zip(*columns, strict=True), is_operator=False)
    for row, id, weight in zip(rows, windows.parts[EVENT_ID].array.tolist(), windows.weight.tolist(), strict=True):
        yield row._replace(id=id, kind=OutputKind.INSERT if weight > 0 else OutputKind.RETRACT)


def _value_rows(closed: Closed, *, is_operator: bool) -> Iterator[ResultRow]:
    values = list(zip(*closed.values or (), strict=True))
    return _each_row(closed, map(values.__getitem__, closed.results.tolist()), is_operator=is_operator)


def _each_row(closed: Closed, values: Iterable[tuple[Any, ...]], *, is_operator: bool) -> Iterator[ResultRow]:
    names = zip(*(column.to_pylist() for column in closed.keys.columns), strict=True)
    extents = zip(closed.windows.low.tolist(), closed.windows.high.tolist(), strict=True)
    for key, extent, results in zip(names, extents, values, strict=True):
        for row in results[0] if is_operator else (results,):
            yield ResultRow(key, Window(*extent), row)
