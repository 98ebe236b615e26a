"""Row windows of large keys: a batch writes the rows that it released, and whoever reads them has the same windows."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muntin import INFINITY
from muntin.rows import PartitionedRows, last
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.keyed import key_store
from muntin_engine.evaluators.ordered.rows_state import RowsState
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.rows.engine import Given, Step, evaluated, plan_of_rows
from tests.rows.test_evaluator import cut, histories, said_in

SETTINGS = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@SETTINGS
@given(histories(), st.data())
def test_windows_that_released_rows_lead_to_are_those_that_were(
    monkeypatch: pytest.MonkeyPatch, history: tuple[PartitionedRows, list[Given]], data: st.DataObject
) -> None:
    windows, rows = history
    plan, steps = plan_of_rows(windows), cut(data, rows)
    wanted = sorted(evaluated(plan, [Step(rows, INFINITY)], said=said_in(steps)), key=repr)
    monkeypatch.setattr(key_store, "LARGE", 40)
    assert sorted(evaluated(plan, steps, restarts=True), key=repr) == wanted


def test_windows_are_read_back_from_the_rows_that_were_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above reads records of released rows, and one that leaves out a row is found."""
    plan, steps = plan_of_rows(last(40)), [Step([Given("a", at, at)], at + 1) for at in range(80)]
    monkeypatch.setattr(key_store, "LARGE", 40)
    wanted = evaluated(plan, steps)
    assert evaluated(plan, steps, restarts=True) == wanted
    repeat = RowsState._repeat
    monkeypatch.setattr(RowsState, "_repeat", lambda state, actions, row=None: repeat(state, list(actions)[1:], row))
    with pytest.raises((KeyError, AssertionError)):
        assert evaluated(plan, steps, restarts=True) == wanted


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
