"""Operators that follow a stream, as the reference runs them: where they are woken, and what their rows last."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import Event, StreamOperator
from muntin.errors import ModuleDefinitionError
from muntin.testing import WindowedQuery, evaluate
from tests.sdk.made import made
from tests.sdk.stream_operators import Gaps, Newest, Silence, Ticker

Row = tuple[int, int, Any]
AGAIN = made(Newest, next_time=lambda self, state: 5, on_time=lambda self, state, time: [-time])()
"""Asks for a time that may not be after the last call."""

RUNS: list[tuple[StreamOperator[Any, Any, Any], tuple[int, ...], dict[str, int], list[Row]]] = [
    # 0    5    10   15   20
    # a  b         c
    # silent for 4     !     !
    (Silence(4), (0, 3, 13), {"complete_to": 17}, [(7, 8, "silent since 3"), (17, 18, "silent since 13")]),
    (Silence(4), (0, 3, 13), {"complete_to": 16}, [(7, 8, "silent since 3")]),
    # an event at the very time of the wake-up starts after it: four ticks [3, 7) were silent
    (Silence(4), (3, 7), {"complete_to": 8}, [(7, 8, "silent since 3")]),
    # a stream that ends wakes up to its horizon and once more
    (Ticker(5), (1, 12), {}, [(5, 6, 1), (10, 11, 1), (15, 16, 12)]),
    (Ticker(5), (1,), {"horizon": 11}, [(5, 6, 1), (10, 11, 1), (15, 16, 1)]),
    # a time that is not after the last call is no wake-up
    (AGAIN, (3, 5, 9), {}, [(3, 4, 3), (5, 6, -5), (5, 6, 5), (9, 10, 9)]),
    # a row keeps the lifetime that it is returned with
    (Gaps(3), (0, 2, 9, 20), {}, [(9, 16, 7), (20, 31, 11)]),
]


@pytest.mark.parametrize(("operator", "times", "limits", "rows"), RUNS)
def test_an_operator_is_woken_where_its_state_asks_for_it(
    operator: StreamOperator[Any, Any, Any], times: tuple[int, ...], limits: dict[str, int], rows: list[Row]
) -> None:
    found = evaluate(WindowedQuery.unwindowed(operator), [Event.point(at, at) for at in times], **limits)
    assert [(row.start, row.end, row.value) for row in found] == rows


def test_a_method_that_does_not_take_what_it_is_called_with_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"on_time\(state\) is called with \(state, time\)"):
        made(Newest, on_time=lambda self, state: None).check_definition()
