"""Sessions, and snapshots: windows between neighbouring edges, which are the starts and ends of events."""

from __future__ import annotations

import pytest

from muntin import session, snapshot
from muntin.testing import Script
from muntin_engine.evaluators.arrays.values import row_list_values
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_the_end_of_a_forgotten_event_stays_the_start_of_the_open_snapshot(restarts: float) -> None:
    """
    0      50   60      100
    |a------------------|
           |b---|    ^             the watermark passes the end of b with the batch that brings it
    """
    first_batch = Script().insert("a", start=0, end=100, payload=1).punctuate(10).batch()
    stream = first_batch.insert("b", start=50, end=60, payload=2).punctuate(70).batch().close()
    mishaps = Mishaps(disorder=False, cuts=None, restarts=restarts)
    Scenario(Query(snapshot(), COLUMNAR["sums"], lifetimes="intervals"), stream, mishaps).check()


def test_a_session_of_more_rows_than_a_log_entry_holds_is_one_window_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rows are written in pieces. No later row fuses these again: the next micro-batch only ends the stream."""
    monkeypatch.setattr(row_list_values, "ENTRY_BYTES", 64)
    stream = Script()
    for tick in range(20):
        stream = stream.insert(f"row {tick}", start=tick, end=tick + 3, payload=tick)
    stream = stream.batch().close()
    query = Query(session(4), COLUMNAR["sums"], lifetimes="intervals")
    assert "grouped" in query.evaluators, "the evaluator that holds rows"
    Scenario(query, stream, Mishaps(disorder=False, cuts=None, restarts=1.0)).check()
