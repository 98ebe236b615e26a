"""Sessions in memory, for restart tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin import TimestampPolicy, Window
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.columnar.in_memory import form_values, row_without_inputs, rows_of
from muntin_engine.evaluators.edges.store import EdgeStore
from muntin_engine.evaluators.fused.bucket import FusedBucket
from muntin_engine.evaluators.fused.lifting import Fusing, lift_rows
from muntin_engine.evaluators.fused.session_rows import blobs_of_rows
from muntin_engine.evaluators.fused.session_store import SessionStore
from muntin_engine.evaluators.fused.state_store import ClosedStates, StateSessionStore
from muntin_engine.evaluators.fused.store import ClosedSessions, FusedStore
from muntin_engine.evaluators.over_slices.bucket_blob import BucketBlob
from muntin_engine.evaluators.slices.runs import rows_of_results
from muntin_engine.exchange.bound_form import bound_forms
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores


class SessionsInMemory(ABC):
    """Fuses sessions, and keeps decoded state between micro-batches, as a worker does."""

    evicted: Sequence[tuple[Key, OutputChange]] = ()

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        """Open a bucket around cells."""
        assert plan.gap is not None
        self._plan = plan
        self._fusing = Fusing(plan.gap)
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
        self._codec = codec
        self._bucket = FusedBucket((), self._store, cells, codec, plan_compatibility(plan), KeptStores(), "bucket")

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        blobs = [blob.blob for key, row in rows for blob in self._lift(key, row)]
        return [change for some in self._bucket.process(blobs, arrived).output for change in self._changes(some.output)]

    @abstractmethod
    def _store(self) -> SessionStore[Any, Any, Any]:
        """Return an empty store."""

    @abstractmethod
    def _lift(self, key: Key, row: InputChange) -> Iterable[BucketBlob]:
        """Return a row, as the map side sends it."""

    @abstractmethod
    def _results(self, closed: Any) -> Iterable[tuple[int, int, Key, tuple[object, ...]]]:
        """Return start, end, key and results of complete sessions."""

    def _changes(self, closed: Any) -> Iterator[tuple[Key, OutputChange]]:
        for start, end, key, results in self._results(closed):
            lifetime = (end, end + 1) if self._at_end else (start, end)
            yield key, OutputChange(OutputKind.INSERT, start, Window(start, end), *lifetime, results)


class ArraySessionsInMemory(SessionsInMemory):
    """Fuses the components of columnar forms, or adds them up between the edges of events."""

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        super().__init__(plan, cells, codec)
        self._forms = bound_forms(plan, [Meter() for _ in plan.modules])

    def _store(self) -> FusedStore:
        return (EdgeStore if self._plan.is_cut_at_edges else FusedStore)(self._forms, at_end=self._at_end)

    def _lift(self, key: Key, row: InputChange) -> Iterable[BucketBlob]:
        return lift_rows(self._fusing, self._forms, rows_of(self._plan, key, row))

    def _results(self, closed: ClosedSessions) -> Iterable[tuple[int, int, Key, tuple[object, ...]]]:
        values = form_values(self._forms, closed.windows, closed.keys)
        starts, ends = closed.windows.windows.tolist(), closed.ends.tolist()
        return ((start, end, *row) for start, end, row in zip(starts, ends, values, strict=True))


class StateSessionsInMemory(SessionsInMemory):
    """Combines the states of modules; a payload is of any type, so it travels as the codec writes it."""

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        super().__init__(plan, cells, codec)
        self._bindings = plan.evaluator_query([Meter() for _ in plan.modules]).bindings

    def _store(self) -> StateSessionStore:
        return StateSessionStore(self._bindings, self._codec, at_end=self._at_end, values_of=self._values)

    def _values(self, column: pa.Array) -> list[object]:
        return list(map(self._codec.unpack, column.to_pylist()))

    def _lift(self, key: Key, row: InputChange) -> Iterable[BucketBlob]:
        inputs = [pa.array([self._codec.pack(value)], pa.binary()) for value in row.payload]
        rows = replace(row_without_inputs(self._plan, key, row), inputs=inputs)
        return blobs_of_rows(self._fusing, rows, self._codec)

    def _results(self, closed: ClosedStates) -> Iterable[tuple[int, int, Key, tuple[object, ...]]]:
        keys = zip(*(column.to_pylist() for column in closed.keys.columns), strict=True)
        values = zip(*closed.values, strict=True)
        for start, end, key, results in zip(closed.starts.tolist(), closed.ends.tolist(), keys, values, strict=True):
            for row in rows_of_results(results, is_operator=self._plan.is_operator):
                yield start, end, key, row
