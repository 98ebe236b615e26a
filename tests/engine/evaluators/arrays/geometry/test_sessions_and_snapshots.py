"""Snapshots whose edges are told from what is kept."""

from __future__ import annotations

import pytest

from muntin import snapshot
from muntin.testing import Script
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_an_event_that_ended_leaves_its_edge_to_the_open_snapshot(restarts: float) -> None:
    """
    0      50   60      100
    |a------------------|
           |b---|    ^             the watermark passes the end of b with the batch that brings it
    """
    stream = Script().insert("a", 0, 100, 1).punctuate(10).batch().insert("b", 50, 60, 2).punctuate(70).batch().close()
    mishaps = Mishaps(disorder=False, cuts=None, restarts=restarts)
    Scenario(Query(snapshot(), COLUMNAR["sums"], lifetimes="intervals"), stream, mishaps).check()
