"""`RestartLaws`, and `crash_everywhere` over row windows: kept by honest modules, broken by wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import strategies as st

from muntin import ColumnarAggregate, IncrementalAggregate, Module, snapshot, tumbling
from muntin.errors import PolicyError, QueryError
from muntin.rows import batch, delta, elapsed, last, marker, on_row
from muntin.schemas import Field
from muntin.testing import Computation, LawError, Script, WindowedQuery, laws_of
from muntin_engine.testing import RestartError, RestartLaws, crash_everywhere, measure
from tests.modules.restarts import (
    Cache,
    Calls,
    CombinesOnSelf,
    Departures,
    DeparturesOnSelf,
    Mean,
    Numbers,
    NumbersOnSelf,
    Total,
    TotalOnSelf,
)
from tests.modules.rows import Changes, Listed
from tests.sdk.testing.laws.muntin_hostile import HONEST

WRONG_MODULES: dict[str, type[Module]] = {
    "test_final_results_survive_restarts": TotalOnSelf,
    "test_speculative_results_survive_restarts": TotalOnSelf,
    "test_eager_results_survive_restarts": Calls,
    "test_early_results_survive_restarts": Calls,
    "test_results_over_slices_survive_restarts": CombinesOnSelf,
    "test_results_of_row_windows_survive_restarts": TotalOnSelf,
    "test_results_without_windows_survive_restarts": NumbersOnSelf,
}
"""A module that breaks each law."""

LAW_OF_STREAMS = "test_results_without_windows_survive_restarts"
LAW_OF_ROW_WINDOWS = "test_results_of_row_windows_survive_restarts"


def check_law(law: str, module: Module, **attributes: Any) -> None:
    """Run a law of the suite that a test of a module would have; the attributes are those of the suite."""
    suite = type("TestSubject", (RestartLaws,), {"module": module, **attributes})
    getattr(suite(), law)()


@pytest.mark.cases(3)
@pytest.mark.parametrize("law", laws_of(RestartLaws))
def test_a_wrong_module_breaks_the_law_and_the_smallest_stream_shows_it(law: str) -> None:
    module = WRONG_MODULES[law]()
    with pytest.raises(LawError) as broken:
        check_law(law, module)
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert str(broken.value).startswith(f"{module.name} 1 breaks the law: {broken.value.law}\n")
    assert "smallest stream:" in str(broken.value)
    assert "to do: keep all that a result depends on in the state" in str(broken.value)
    assert broken.value.stream.count("+ ") <= 3


def test_the_smallest_stream_is_one_event_where_that_is_enough() -> None:
    with pytest.raises(LawError) as broken:
        check_law("test_eager_results_survive_restarts", TotalOnSelf(), windows=(snapshot(),))
    assert broken.value.stream.splitlines() == [
        "           0",
        "+ 'E0'     [)   1",
        "",
        "without    [)   1",
        "run again  [)   2",
    ]


@pytest.mark.parametrize("module", [cls() for cls in HONEST], ids=lambda module: module.name)
def test_an_honest_module_of_every_shape_keeps_the_law_of_speculative_results(module: Module) -> None:
    check_law("test_speculative_results_survive_restarts", module)


@pytest.mark.parametrize("law", [law for law in laws_of(RestartLaws) if law != LAW_OF_STREAMS])
def test_a_module_with_a_columnar_form_and_one_with_a_cache_keep_each_law(law: str) -> None:
    check_law(law, Mean(), payloads=st.integers(0, 40).map(float))
    check_law(law, Cache())


def test_an_operator_that_follows_rows_has_one_law_over_both_of_its_outputs() -> None:
    check_law(LAW_OF_ROW_WINDOWS, Departures())
    with pytest.raises(LawError) as broken:
        check_law(LAW_OF_ROW_WINDOWS, DeparturesOnSelf())
    assert "given by rows that left" in str(broken.value)
    with pytest.raises(pytest.skip.Exception, match=r"test\.departures follows rows"):
        check_law("test_final_results_survive_restarts", Departures())


def test_an_operator_that_follows_a_stream_has_one_law_which_others_do_not_have() -> None:
    check_law(LAW_OF_STREAMS, Numbers())
    with pytest.raises(pytest.skip.Exception, match=r"test\.numbers follows a stream"):
        check_law("test_final_results_survive_restarts", Numbers())
    with pytest.raises(pytest.skip.Exception, match=r"test\.departures is for windows"):
        check_law(LAW_OF_STREAMS, Departures())


def test_row_windows_of_ones_own_are_tried_alone_and_none_is_skipped() -> None:
    with pytest.raises(LawError, match=r"results of batch\(2\)"):
        check_law(LAW_OF_ROW_WINDOWS, TotalOnSelf(), windows=(tumbling(5), batch(2)))
    with pytest.raises(pytest.skip.Exception, match=r"there are no such windows among tumbling\(5\)"):
        check_law(LAW_OF_ROW_WINDOWS, TotalOnSelf(), windows=(tumbling(5),))


NEVER_SLICED = [cls() for cls in HONEST if cls.is_time_sensitive or not hasattr(cls, "combine")]


@pytest.mark.parametrize("module", NEVER_SLICED, ids=lambda module: module.name)
def test_the_law_of_slices_is_skipped_with_a_reason_for_modules_that_never_run_over_them(module: Module) -> None:
    with pytest.raises(pytest.skip.Exception, match=rf"{module.name} (is time-sensitive|has no combine)"):
        check_law("test_results_over_slices_survive_restarts", module)


class CountOfDicts(IncrementalAggregate[dict[str, int], int, int]):
    """Has no `combine`, and a method for a columnar form that says that there is none for these payloads."""

    name, version = "test.count_of_dicts", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[dict[str, int]]) -> int:
        return state + len(payloads)

    def compute_result(self, state: int) -> int:
        return state

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        return None


def test_a_module_without_a_columnar_form_for_its_payloads_is_tried_with_its_rows() -> None:
    check_law("test_results_over_slices_survive_restarts", CountOfDicts())


# `crash_everywhere` over row windows: rows in their order, both outputs, and the queries that it refuses.


POINTS = Script().point("a", 1, 2).point("b", 4, 3).punctuate(4).point("c", 7, 7, key="k").point("d", 4, 1).close()


def query(module: Module, windows: Any) -> WindowedQuery:
    """Return a query of a module in row windows."""
    return WindowedQuery(windows, [Computation(module)])


@pytest.mark.parametrize("windows", [last(2), last(3).trigger(2), batch(2), batch(elapsed(3))], ids=str)
@pytest.mark.parametrize("module", [Total(), Listed(), Changes(), Departures()], ids=lambda module: module.name)
def test_a_module_that_keeps_all_in_its_state_survives(module: Module, windows: Any) -> None:
    survived = crash_everywhere(POINTS, query(module, windows))
    assert survived.evaluators == ("in_order",)
    assert survived.steps == len(POINTS.steps)


@pytest.mark.parametrize("module", [TotalOnSelf(), Calls(), DeparturesOnSelf()], ids=lambda module: module.name)
def test_a_module_that_keeps_something_outside_of_its_state_does_not_survive(module: Module) -> None:
    script = Script().point("a", 1, 2).point("b", 2, 3).punctuate(3).point("c", 4, 1).point("d", 5, 1).close()
    with pytest.raises(RestartError, match=r"of last\(2\).trigger\(2\), evaluator in_order"):
        crash_everywhere(script, query(module, last(2).trigger(2)))


def test_rows_of_one_time_survive_in_the_order_of_their_ids() -> None:
    script = Script().point("a", 1, 1).point("b", 1, 2).retract("a").point("a", 1, 3).close()
    assert crash_everywhere(script, query(Listed(), last(2))).evaluators == ("in_order",)


def test_windows_that_read_fields_of_the_payload_survive() -> None:
    script = Script()
    for number in range(6):
        script = script.point(number, number, {"value": number % 3, "is_marked": number == 3, "n": number})
    for windows in (last(delta("value", 1)), batch(marker("is_marked")), last(2).trigger(on_row("is_marked"))):
        total_of_n = WindowedQuery(windows, [Computation(Total(), lambda payload: payload["n"])])
        assert crash_everywhere(script.close(), total_of_n).evaluators == ("in_order",)


def test_a_query_over_row_windows_can_be_measured() -> None:
    measured = measure(POINTS, query(Total(), batch(2)))
    assert measured.evaluator == "in_order"
    rows = chain.from_iterable(measured.output.values())
    assert sorted(row.value[0] for row in rows) == [1, 5, 7]


def test_queries_that_row_windows_cannot_serve_are_refused() -> None:
    only_final = r"last\(2\) is computed when the watermark has passed the row, and emit='eager'"
    with pytest.raises(PolicyError, match=only_final):
        crash_everywhere(POINTS, query(Total(), last(2)), emit="eager")
    with pytest.raises(QueryError, match="follows rows at points in time, and these are events with an end"):
        crash_everywhere(Script().insert("a", 1, 5, 2).close(), query(Total(), last(2)))
