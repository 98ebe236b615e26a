"""Rows of one event, in whatever order they come: two insertions, and a retraction of one of them."""

from __future__ import annotations

from itertools import permutations
from math import nan
from typing import Any

import pytest

from muntin import INFINITY
from muntin_engine.evaluators.keyed.row_chain import EventState, chain_rows
from muntin_engine.time.changes import InputChange

ABSENT = EventState(start=0, end=0, payload=())


def insertion(payload: Any) -> InputChange:
    return InputChange(id=1, start=0, end=5, payload=(payload,))


def retraction(payload: Any) -> InputChange:
    """Return a row that ends the event at its start; its payload may name the insertion that it retracts."""
    return InputChange(id=1, start=0, end=5, payload=(payload,), new_end=0)


@pytest.mark.parametrize(
    ("rows", "remaining"),
    [
        pytest.param([insertion(9.0), insertion(10.0), retraction(None)], 10.0, id="by value, not by text"),
        pytest.param([insertion(-9.0), insertion(-10.0), retraction(None)], -9.0, id="negative"),
        pytest.param([insertion(-0.0), insertion(3.0), retraction(0.0)], 3.0, id="zero of either sign"),
        pytest.param([insertion(nan), insertion(-3.0), retraction(nan)], -3.0, id="nan"),
        pytest.param([insertion(None), insertion(-3.0), retraction(-3.0)], None, id="null"),
    ],
)
def test_the_event_has_the_greatest_payload_that_no_retraction_names(
    rows: list[InputChange], remaining: float | None
) -> None:
    for order in permutations(rows):
        chained = chain_rows(ABSENT, order, INFINITY)
        assert chained.event == EventState(start=0, end=5, payload=(remaining,))
        assert not chained.pending.rows
