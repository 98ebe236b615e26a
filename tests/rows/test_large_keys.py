"""Row windows of large keys: a batch writes the rows that it released, and whoever reads them has the same windows."""

from __future__ import annotations

from muntin.rows import last
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.rows.engine import plan_of_rows


class Counting(MemoryCells):
    """Cells that count the bytes that are put into them."""

    written = 0

    def put(self, name: str, data: bytes) -> None:
        self.written += len(data)
        super().put(name, data)


def test_a_row_of_a_large_window_writes_what_it_brings() -> None:
    plan, cells = plan_of_rows(last(2000).trigger(500)), Counting()
    bucket = RowsBucket(
        plan.evaluator_query([Meter()]), cells, Codec(), plan_identity(plan), kept=KeptStores(), name="rows"
    )

    def take(*times: int) -> int:
        before, end = cells.written, times[-1] + 1
        changes = [InputChange(None, at, at + 1, (at,)) for at in times]
        result = bucket.process([(("a",), changes)], Progress(end, end, end - 1))
        assert result.held.events == min(end, 2000)
        return cells.written - before

    whole = take(*range(3000))
    assert whole > 20_000
    assert sum(take(at) for at in range(3000, 3020)) < 2 * whole, "and not twenty times as much"
