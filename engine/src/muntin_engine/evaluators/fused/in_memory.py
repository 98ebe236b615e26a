"""Sessions on arrays in memory, for restart tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import TimestampPolicy, Window
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.columnar.in_memory import form_values, rows_of
from muntin_engine.evaluators.fused.bucket import FusedBucket
from muntin_engine.evaluators.fused.lifting import Fusing, lift_rows
from muntin_engine.evaluators.fused.store import ClosedSessions, FusedStore
from muntin_engine.exchange.bound_form import bound_forms
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores


class SessionsInMemory:
    """Fuses the components of columnar forms, and keeps decoded state between micro-batches, as a worker does."""

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        """Open a bucket around cells."""
        self._plan = plan
        assert plan.gap is not None
        self._fusing = Fusing(plan.gap)
        self._forms = bound_forms(plan, [Meter() for _ in plan.modules])
        self._at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
        self._bucket = FusedBucket((), self._store, cells, codec, plan.compatibility(), KeptStores(), "bucket")

    def _store(self) -> FusedStore:
        return FusedStore(self._forms, at_end=self._at_end)

    def take(self, rows: Sequence[tuple[Key, InputChange]], arrived: Progress) -> list[tuple[Key, OutputChange]]:
        """Evaluate a micro-batch, write the state and return the changes of the output."""
        lifted = (lift_rows(self._fusing, self._forms, rows_of(self._plan, key, row)) for key, row in rows)
        blobs = [blob.blob for some in lifted for blob in some]
        complete = self._bucket.process(blobs, arrived).output
        return [change for some in complete for change in self._changes(some.output)]

    def _changes(self, closed: ClosedSessions) -> Iterator[tuple[Key, OutputChange]]:
        starts, ends = closed.windows.windows.tolist(), closed.ends.tolist()
        values = form_values(self._forms, closed.windows, closed.keys)
        for start, end, (key, results) in zip(starts, ends, values, strict=True):
            lifetime = (end, end + 1) if self._at_end else (start, end)
            yield key, OutputChange(OutputKind.INSERT, start, Window(start, end), *lifetime, results)
