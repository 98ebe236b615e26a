"""`crash_everywhere` over row windows: rows in their order, both outputs, and what it cannot be asked."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import Module
from muntin.errors import PolicyError, QueryError
from muntin.rows import batch, delta, elapsed, last, marker, on_row
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import RestartError, crash_everywhere, measure
from tests.crashing.modules import Calls, Departures, DeparturesOnSelf, Total, TotalOnSelf
from tests.rows.modules import Changes, Listed

POINTS = Script().point("a", 1, 2).point("b", 4, 3).punctuate(4).point("c", 7, 7, key="k").point("d", 4, 1).close()


def query(module: Module, windows: Any) -> WindowedQuery:
    return WindowedQuery(windows, [Computation(module)])


@pytest.mark.parametrize("windows", [last(2), last(3).trigger(2), batch(2), batch(elapsed(3))], ids=str)
@pytest.mark.parametrize("module", [Total(), Listed(), Changes(), Departures()], ids=lambda module: module.name)
def test_a_module_that_keeps_all_in_its_state_survives(module: Module, windows: Any) -> None:
    survived = crash_everywhere(POINTS, query(module, windows))
    assert (survived.evaluators, survived.steps) == (("in_order",), 6)


@pytest.mark.parametrize("module", [TotalOnSelf(), Calls(), DeparturesOnSelf()], ids=lambda module: module.name)
def test_one_that_does_not_is_found(module: Module) -> None:
    script = Script().point("a", 1, 2).point("b", 2, 3).punctuate(3).point("c", 4, 1).point("d", 5, 1).close()
    with pytest.raises(RestartError, match=r"of last\(2\).trigger\(2\), evaluator in_order"):
        crash_everywhere(script, query(module, last(2).trigger(2)))


def test_rows_of_one_time_follow_one_another_as_their_ids_came() -> None:
    script = Script().point("a", 1, 1).point("b", 1, 2).retract("a").point("a", 1, 3).close()
    crash_everywhere(script, query(Listed(), last(2)))


def test_what_windows_read_is_a_field_of_the_payload() -> None:
    script = Script()
    for number in range(6):
        script = script.point(number, number, {"v": number % 3, "m": number == 3, "n": number})
    for windows in (last(delta("v", 1)), batch(marker("m")), last(2).trigger(on_row("m"))):
        crash_everywhere(script.close(), WindowedQuery(windows, [Computation(Total(), lambda payload: payload["n"])]))


def test_it_can_be_measured() -> None:
    measured = measure(POINTS, query(Total(), batch(2)))
    assert measured.evaluator == "in_order"
    assert sorted(row.value[0] for rows in measured.output.values() for row in rows) == [1, 5, 7]


def test_what_row_windows_cannot_do_is_refused() -> None:
    with pytest.raises(
        PolicyError, match=r"last\(2\) is computed when the watermark has passed the row, and emit='eager'"
    ):
        crash_everywhere(POINTS, query(Total(), last(2)), emit="eager")
    with pytest.raises(QueryError, match="follows rows at points in time, and these are events with an end"):
        crash_everywhere(Script().insert("a", 1, 5, 2).close(), query(Total(), last(2)))
