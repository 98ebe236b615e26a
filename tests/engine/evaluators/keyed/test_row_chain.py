"""Payloads of an event that was inserted again are compared by value, and not by their text."""

from __future__ import annotations

from itertools import permutations
from math import nan
from typing import Any

import pytest

from muntin import INFINITY
from muntin_engine.evaluators.keyed.row_chain import EventState, chain_rows
from muntin_engine.time.changes import InputChange

ABSENT = EventState(0, 0, ())


def insertion(payload: Any) -> InputChange:
    return InputChange(1, 0, 5, (payload,))


def retraction(payload: Any) -> InputChange:
    return InputChange(1, 0, 5, (payload,), 0)


@pytest.mark.parametrize(
    ("rows", "payload"),
    [
        ([insertion(9.0), insertion(10.0), retraction(None)], 10.0),
        ([insertion(-9.0), insertion(-10.0), retraction(None)], -9.0),
        ([insertion(-0.0), insertion(3.0), retraction(0.0)], 3.0),
        ([insertion(nan), insertion(-3.0), retraction(nan)], -3.0),
        ([insertion(None), insertion(-3.0), retraction(-3.0)], None),
    ],
)
def test_what_is_left_of_an_event_is_the_greatest_that_no_retraction_names(
    rows: list[InputChange], payload: float | None
) -> None:
    for order in permutations(rows):
        chained = chain_rows(ABSENT, order, INFINITY)
        assert chained.event == EventState(0, 5, (payload,))
        assert not chained.pending.rows
