"""Snapshots: windows between neighbouring edges, which are the starts and ends of events."""

from __future__ import annotations

import pytest

from muntin import snapshot
from muntin.testing import Script
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
