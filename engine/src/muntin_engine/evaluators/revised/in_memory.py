"""Windows of events with ids in memory, for restart tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from muntin import TimestampPolicy, Window
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.columnar.column_arrays import column_of
from muntin_engine.evaluators.columnar.in_memory import form_values
from muntin_engine.evaluators.fused.store import ClosedSessions
from muntin_engine.evaluators.revised.bucket import RevisedBucket
from muntin_engine.exchange.bound_form import bound_forms
from muntin_engine.exchange.shuffle import to_blob
from muntin_engine.plan.identity import plan_compatibility
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores


class RevisedInMemory:
    """Admits events with whole numbers as ids and keys; each module reads one input of its own.

    Attributes:
        evicted: Nothing: windows have no second output.
    """

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        """Open a bucket around cells."""
        meters = [Meter() for _ in plan.modules]
        self.evicted: Sequence[tuple[Key, OutputChange]] = ()
        self._plan, self._forms = plan, bound_forms(plan, meters)
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
        self._bucket = RevisedBucket(
            plan.evaluator_query(meters),
            self._forms,
            cells,
            codec,
            plan_compatibility(plan),
            KeptStores(),
            "bucket",
        )

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        result = self._bucket.process([to_blob(self._table(key, row)) for key, row in rows], arrived)
        return [*result.changes, *(change for closed in result.closed for change in self._changes(closed))]

    def _table(self, key: Key, row: InputChange) -> pa.Table:
        times = {"start": row.start, "end": row.end, "new_end": row.new_end, "id": row.id}
        columns = {f"k{place}": pa.array([part], pa.int64()) for place, part in enumerate(key)}
        columns |= {name: pa.array([value], pa.int64()) for name, value in times.items()}
        inputs = zip(self._plan.modules, row.payload, strict=True)
        columns |= {f"i{place}": column_of(module.known[0], [value]) for place, (module, value) in enumerate(inputs)}
        return pa.table(columns)

    def _changes(self, closed: ClosedSessions) -> Iterator[tuple[Key, OutputChange]]:
        values = form_values(self._forms, closed.windows, closed.keys)
        starts, ends = closed.windows.windows.tolist(), closed.ends.tolist()
        for start, end, (key, results) in zip(starts, ends, values, strict=True):
            lifetime = (end, end + 1) if self._at_end else (start, end)
            yield key, OutputChange(OutputKind.INSERT, start, Window(start, end), *lifetime, results)
