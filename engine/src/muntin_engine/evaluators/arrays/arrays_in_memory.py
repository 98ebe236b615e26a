"""Evaluators on arrays in memory, for restart tests: keys and ids are integers, and each module reads one input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import Event, TimestampPolicy, Window
from muntin.columnar.payloads import part_of
from muntin.columnar.results import python_values
from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, Struct
from muntin_engine.evaluators.arrays.array_query import QueryParts
from muntin_engine.evaluators.arrays.machine import ArrayQuery, process
from muntin_engine.evaluators.arrays.result_emission import StoredResults
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.result_tables import EVENT_ID, ResultWindows, form_results
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob
from muntin_engine.modules.meter import Meter
from muntin_engine.plan.chosen_evaluator import Held
from muntin_engine.plan.evaluator_query import evaluator_query
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.store_cache import StoreCache
from muntin_engine.time.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.shuffle import InputReport
from muntin_engine.wire.typed_arrays import ARROW_TYPES


def column_of(field: Field, payloads: Sequence[object]) -> pa.Array:
    """Return payloads as a column of the Arrow type that fits their field.

    Args:
        field: The type of the payloads; it has no type variables.
        payloads: The payloads.

    Example:
        >>> from muntin.schemas import describe
        >>> column_of(describe(tuple[int, float | None]), [(1, 2.5), (2, None)]).to_pylist()
        [{'_1': 1, '_2': 2.5}, {'_1': 2, '_2': None}]
    """
    values = [_plain(field.type, payload) for payload in payloads]
    return arrow_array(values, _type_of(field.type))


def _type_of(kind: DataType) -> pa.DataType:
    """Return the Arrow type of a type without type variables."""
    if isinstance(kind, Scalar):
        return ARROW_TYPES[kind.kind]
    if isinstance(kind, ListOf):
        return pa.list_(_type_of(kind.element.type))
    if isinstance(kind, MapOf):
        return pa.map_(_type_of(kind.key.type), _type_of(kind.value.type))
    if isinstance(kind, Struct):
        return pa.struct([pa.field(part.name, _type_of(part.type)) for part in kind.fields])
    raise TypeError(f"{kind} has no column type")


def _plain(kind: DataType, value: Any) -> Any:
    """Return a value in the form that Arrow takes for its type: a record as a dict, a map as a list of pairs."""
    if value is None or isinstance(kind, Scalar):
        return value
    if isinstance(kind, ListOf):
        return [_plain(kind.element.type, part) for part in value]
    if isinstance(kind, MapOf):
        pairs: list[tuple[Any, Any]] = []
        for key, part in value.items():
            pairs.append((_plain(kind.key.type, key), _plain(kind.value.type, part)))
        return pairs
    if isinstance(kind, Struct):
        record: dict[str, Any] = {}
        for place, field in enumerate(kind.fields):
            record[field.name] = _plain(field.type, part_of(value, field.name, place))
        return record
    raise TypeError(f"{kind} has no column type")


class ResultRow(NamedTuple):
    """A result of a window, or a change of one.

    Attributes:
        key: The key.
        window: The window.
        value: The results of its modules; of an operator, a row of the output.
        id: The id of the result as an event of the output; None where results are final.
        kind: Whether the result is inserted or retracted.
    """

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
        self._trackers = [ProgressTracker(steps=steps_of(plan)) for _ in plan.inputs]
        # Each call opens the state anew, for one batch. All batches share one cache, as in a worker.
        self._open_state = partial(
            BucketState, cells, codec, plan_compatibility(plan), cache=StoreCache(), name="the only bucket"
        )
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END

    def process(self, rows: Sequence[tuple[Key, InputChange]], reported: Progress) -> list[tuple[Key, OutputChange]]:
        """Process a micro-batch, write the state and return the changes of the output."""
        blobs: list[bytes] = []
        for key, row in rows:  # each row as if it came from a map task of its own
            blobs += [lifted.blob for lifted in self._bucket.lift(key, row)]
        reports = [InputReport(reported)] * len(self._trackers)
        batch = BucketBatch(changes=(), evaluator_blobs=blobs, reports=reports)
        changes: list[tuple[Key, OutputChange]] = []
        for windows in self._bucket.process(self._open_state(), self._trackers, batch):
            changes += map(self._change, self._bucket.result_rows(windows))
        return changes

    def _change(self, row: ResultRow) -> tuple[Key, OutputChange]:
        """Return a result as a change of the output, with the start and the end that its event has there."""
        window = row.window
        start = window.start
        end = window.end
        value = row.value
        if self._at_end:  # the event is the point at the end of its window
            start = window.end
            end = start + 1
        if isinstance(value, Event):  # a row of an operator that says how long its rows last
            start = value.start
            end = value.end
            value = value.payload
        id = window.start if row.id is None else row.id  # final results are told apart by their windows
        return row.key, OutputChange(row.kind, id, window, start, end, value)


class WindowsInMemory(RunsInMemory):
    """Windows on arrays."""

    def __init__(self, query: ArrayQuery[Any]) -> None:
        """Take the query to run."""
        self._query = query

    @abstractmethod
    def payload_columns(self, row: InputChange) -> list[pa.Array]:
        """Return the payload of a row as columns."""

    def lift(self, key: Key, row: InputChange) -> Iterator[BucketBlob]:
        """Yield a row as map tasks send it."""
        return self._query.admission.lift_one(row, key_columns(key), self.payload_columns(row))

    def process(
        self, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
    ) -> Sequence[ResultWindows]:
        """Process a micro-batch, and return its output."""
        return process(self._query, state, trackers, batch).windows


class FormsInMemory(WindowsInMemory, StoredResults):
    """Windows that forms compute, of columns of the types that their modules take."""

    def __init__(self, plan: Plan, codec: Codec) -> None:
        """Prepare a query, whose results a codec packs where they are stored."""
        meters = [Meter() for _ in plan.modules]
        self._fields = [module.bound_reads[0] for module in plan.modules]  # in memory, each module reads one column
        self._codec = codec
        query = evaluator_query(plan, meters)
        parts = QueryParts(plan=plan, query=query, meters=meters, codec=codec, stored_results=self)
        self._forms = parts.forms
        super().__init__(parts.assemble())

    def payload_columns(self, row: InputChange) -> list[pa.Array]:
        """Return the payload of a row as columns of one value: one for each module, in the type that it reads."""
        return [column_of(field, [value]) for field, value in zip(self._fields, row.payload, strict=True)]

    def columns(self, windows: ResultWindows) -> pa.Table:
        """Return the results of windows as columns of bytes, one for each form: a result may be of any type."""
        columns: dict[str, pa.Array] = {}
        for place, values in enumerate(self._results(windows)):
            packed_values = [self._codec.pack(value) for value in values]
            columns[f"i{place}"] = arrow_array(packed_values, pa.binary())
        return pa.table(columns)

    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Yield final results, or the changes of results that may be corrected."""
        parts = windows.windows.parts
        if EVENT_ID not in parts:  # only results that may be corrected have ids: these are final
            yield from rows_of(windows, zip(*self._results(windows), strict=True))
            return

        # Results that may be corrected were stored as columns, in which the method `columns` has packed their values.
        columns = [map(self._codec.unpack, column.to_pylist()) for column in parts[ROWS].table.columns]
        rows = rows_of(windows, zip(*columns, strict=True))
        ids = parts[EVENT_ID].array.tolist()
        for row, id, weight in zip(rows, ids, windows.windows.weight.tolist(), strict=True):
            kind = OutputKind.INSERT if weight > 0 else OutputKind.RETRACT
            yield row._replace(id=id, kind=kind)

    def _results(self, windows: ResultWindows) -> list[Sequence[Any]]:
        """Return the results of each form as Python values."""
        return values_of_forms(self._forms, windows)


class ModulesInMemory(WindowsInMemory):
    """Windows of modules that are called one by one: payloads are of any type, and travel packed."""

    def __init__(self, plan: Plan, codec: Codec) -> None:
        """Prepare a query, whose payloads a codec packs."""
        self._is_operator = plan.is_operator
        self._codec = codec
        meters = [Meter() for _ in plan.modules]
        query = evaluator_query(plan, meters)
        parts = QueryParts(plan=plan, query=query, meters=meters, codec=codec, values_of=self._unpacked_values)
        super().__init__(parts.assemble())

    def payload_columns(self, row: InputChange) -> list[pa.Array]:
        """Return the payload of a row as columns of bytes."""
        return [arrow_array([self._codec.pack(value)], pa.binary()) for value in row.payload]

    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Return the rows of windows: one result for each, or the rows that an operator made of it."""
        assert windows.values is not None, "modules that are called one by one have results by now"
        results = list(zip(*windows.values, strict=True))
        # Several windows may share one result: `result_places` says for each window which one it has.
        results_of_windows = [results[place] for place in windows.result_places.tolist()]
        return rows_of(windows, results_of_windows, is_operator=self._is_operator)

    def _unpacked_values(self, column: pa.ChunkedArray) -> list[Any]:
        """Return the values of a column of bytes."""
        return list(map(self._codec.unpack, column.to_pylist()))


def windows_in_memory(plan: Plan, cells: Cells, codec: Codec) -> ArraysInMemory:
    """Open the evaluator of a query in this process, for restart tests, with the state that is in the cells."""
    evaluator_class = _IN_MEMORY[plan.arrays.held]
    return ArraysInMemory(evaluator_class(plan, codec), plan, cells, codec)


_IN_MEMORY: Final[Mapping[Held, Callable[[Plan, Codec], RunsInMemory]]] = {
    Held.COMPONENTS: FormsInMemory,
    Held.STATES: ModulesInMemory,
    Held.ROWS: ModulesInMemory,
}
"""The evaluator of windows, by what stretches hold."""


def key_columns(key: Key) -> list[pa.Array]:
    """Return the parts of a key as columns of one value each."""
    columns: list[pa.Array] = []
    for part in key:
        # Keys are integers here, so a null is one, too. Arrow would give a column of a null alone another type.
        arrow_type = pa.int64() if part is None else None
        columns.append(arrow_array([part], arrow_type))
    return columns


def values_of_forms(forms: Sequence[BoundForm], windows: ResultWindows) -> list[Sequence[Any]]:
    """Return the results of each form for windows, as Python values."""
    values: list[Sequence[Any]] = []
    for place, form in enumerate(forms):
        results = form_results(form, place, windows.windows)
        values.append(python_values(results))
    return values


def rows_of(
    windows: ResultWindows, results: Iterable[tuple[Any, ...]], *, is_operator: bool = False
) -> Iterator[ResultRow]:
    """Yield the rows of windows: one for each with the results of the modules, or those that an operator made of it.

    Args:
        windows: The windows.
        results: For each window the result of each module; of an operator, its rows.
        is_operator: True if the only module is an operator.
    """
    for (key, window), values in zip(_keys_and_extents(windows), results, strict=True):
        if not is_operator:
            yield ResultRow(key, window, values)
            continue
        (rows,) = values
        for row in rows:
            yield ResultRow(key, window, row)


def _keys_and_extents(windows: ResultWindows) -> Iterator[tuple[Key, Window]]:
    """Yield the key and the extent of each window."""
    extents = map(Window, windows.windows.low.tolist(), windows.windows.high.tolist())
    return zip(keys_in(windows.keys), extents, strict=True)
