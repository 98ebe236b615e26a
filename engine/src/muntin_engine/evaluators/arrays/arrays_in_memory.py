"""Evaluators on arrays in memory, for restart tests: keys and ids are integers, and each module reads one input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import Event, TimestampPolicy, Window
from muntin.columnar.payloads import part_of
from muntin.columnar.results import python_values
from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct
from muntin_engine.evaluators.arrays.array_query import QueryParts
from muntin_engine.evaluators.arrays.machine import process
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, bound_forms
from muntin_engine.evaluators.arrays.stretches.result_windows import EVENT_ID, ResultWindows, form_results
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob
from muntin_engine.modules.calls import Meter
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.input_report import InputReport

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


class RunsInMemory(ABC):
    """An evaluator of a query, for the only bucket there is."""

    @abstractmethod
    def lift(self, key: Key, row: InputChange) -> Iterator[BucketBlob]:
        """Yield a row as map tasks send it."""

    @abstractmethod
    def process(
        self, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
    ) -> Sequence[ResultWindows]:
        """Process a micro-batch, and return its output."""

    @abstractmethod
    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Return the rows of an output."""


class ArraysInMemory:
    """A bucket around cells, which keeps decoded state between micro-batches, as a worker does.

    Attributes:
        evicted: Nothing: windows have no second output.
    """

    evicted: Sequence[tuple[Key, OutputChange]] = ()

    def __init__(self, bucket: RunsInMemory, plan: Plan, cells: Cells, codec: Codec) -> None:
        """Open a bucket.

        Args:
            bucket: The evaluator of the query.
            plan: The query.
            cells: The state that earlier processes wrote.
            codec: Writes the state.
        """
        self._bucket = bucket
        self._trackers = [ProgressTracker(steps=plan.steps) for _ in plan.inputs]
        self._state_of_batch = partial(BucketState, cells, codec, plan_compatibility(plan), KeptStores(), "bucket")
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END

    def process(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        blobs: list[bytes] = []
        for key, row in rows:
            blobs += [lifted.blob for lifted in self._bucket.lift(key, row)]
        batch = BucketBatch((), blobs, [InputReport(arrived)] * len(self._trackers))
        changes: list[tuple[Key, OutputChange]] = []
        for windows in self._bucket.process(self._state_of_batch(), self._trackers, batch):
            changes += map(self._change, self._bucket.result_rows(windows))
        return changes

    def _change(self, row: ResultRow) -> tuple[Key, OutputChange]:
        key, window, value, id, kind = row
        start, end = (window.end, window.end + 1) if self._at_end else (window.start, window.end)
        if isinstance(value, Event):
            start, end, value = value.start, value.end, value.payload
        return key, OutputChange(kind, window.start if id is None else id, window, start, end, value)


class WindowsInMemory(RunsInMemory):
    """Windows on arrays.

    Forms read columns of the types that their modules take; other payloads are of any type, and travel packed.
    """

    def __init__(self, plan: Plan, codec: Codec) -> None:
        """Prepare a query, whose packed payloads a codec writes."""
        self._plan = plan
        self._codec = codec
        meters = [Meter() for _ in plan.modules]
        self._forms = bound_forms(plan, meters)
        stored_results = partial(_packed, self._forms, codec)
        parts = QueryParts(
            plan, plan.evaluator_query(meters), self._forms, codec, stored_results, self._unpacked_values
        )
        self._query = parts.assemble()

    def lift(self, key: Key, row: InputChange) -> Iterator[BucketBlob]:
        """Yield a row as map tasks send it."""
        keys = [pa.array([part], pa.int64() if part is None else None) for part in key]
        return self._query.admission.lift_one(row, keys, self._payload_columns(row))

    def process(
        self, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
    ) -> Sequence[ResultWindows]:
        """Process a micro-batch, and return its output."""
        return process(self._query, state, trackers, batch).windows

    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Return the rows of windows."""
        if self._forms:
            return _rows(self._forms, self._codec, windows)
        return _value_rows(windows, is_operator=self._plan.is_operator)

    def _payload_columns(self, row: InputChange) -> list[pa.Array]:
        if not self._forms:
            return [pa.array([self._codec.pack(value)], pa.binary()) for value in row.payload]
        fields = [module.known[0] for module in self._plan.modules]
        return [column_of(field, [value]) for field, value in zip(fields, row.payload, strict=True)]

    def _unpacked_values(self, column: pa.ChunkedArray) -> list[Any]:
        return list(map(self._codec.unpack, column.to_pylist()))


def windows_in_memory(plan: Plan, cells: Cells, codec: Codec) -> ArraysInMemory:
    """Return the evaluator of a query as a new process has it."""
    return ArraysInMemory(WindowsInMemory(plan, codec), plan, cells, codec)


def _packed(forms: Sequence[BoundForm], codec: Codec, closed: ResultWindows) -> pa.Table:
    """Return the results of windows as columns of bytes: they are of any type."""
    results = (python_values(form_results(form, place, closed.windows)) for place, form in enumerate(forms))
    columns = ([codec.pack(value) for value in values] for values in results)
    return pa.table({f"i{place}": pa.array(values, pa.binary()) for place, values in enumerate(columns)})


def _rows(forms: Sequence[BoundForm], codec: Codec, closed: ResultWindows) -> Iterator[ResultRow]:
    windows = closed.windows
    if EVENT_ID not in windows.parts:
        results = [python_values(form_results(form, place, windows)) for place, form in enumerate(forms)]
        yield from _each_row(closed, zip(*results, strict=True), is_operator=False)
        return
    columns = [map(codec.unpack, column.to_pylist()) for column in windows.parts[ROWS].table.columns]
    rows = _each_row(closed, zip(*columns, strict=True), is_operator=False)
    for row, id, weight in zip(rows, windows.parts[EVENT_ID].array.tolist(), windows.weight.tolist(), strict=True):
        yield row._replace(id=id, kind=OutputKind.INSERT if weight > 0 else OutputKind.RETRACT)


def _value_rows(closed: ResultWindows, *, is_operator: bool) -> Iterator[ResultRow]:
    values = list(zip(*closed.values or (), strict=True))
    return _each_row(closed, map(values.__getitem__, closed.results.tolist()), is_operator=is_operator)


def _each_row(closed: ResultWindows, values: Iterable[tuple[Any, ...]], *, is_operator: bool) -> Iterator[ResultRow]:
    names = zip(*(column.to_pylist() for column in closed.keys.columns), strict=True)
    extents = zip(closed.windows.low.tolist(), closed.windows.high.tolist(), strict=True)
    for key, extent, results in zip(names, extents, values, strict=True):
        for row in results[0] if is_operator else (results,):
            yield ResultRow(key, Window(*extent), row)
