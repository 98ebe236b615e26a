"""`try_laws`: a verdict for each law of a module; and the laws of modules that read the order of their payloads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from muntin import Aggregate, Event, IncrementalAggregate, Module, RowOperator, Window, function, testing
from muntin.errors import ModuleDefinitionError
from muntin.testing import AggregateLaws, LawError, Outcome, laws_for, laws_of, try_laws
from muntin_adapters import from_function
from muntin_adapters.combinators import all_of, filtering, preset
from muntin_stats import CollectList, First, Last, Ranked, Sum, TopBy
from tests.sdk.columnar import columnar_modules
from tests.sdk.module_classes import module_class
from tests.sdk.testing.laws.muntin_hostile import HOSTILE
from tests.sdk.testing.laws.muntin_hostile.columnar import HonestColumnarAggregate
from tests.sdk.testing.laws.muntin_hostile.honest import HonestIncrementalAggregate, HonestTimeSensitiveAggregate


def outcomes(module: Any, **laws_attributes: Any) -> set[Outcome]:
    """Return the outcomes that occur among all laws of a module; the attributes say which payloads may come."""
    return {verdict.outcome for verdict in try_laws(module, **laws_attributes)}


def reports_of_broken_laws(module: Any, **laws_attributes: Any) -> dict[str, str]:
    """Try all laws of a module, and return the reports on those that it breaks, by law."""
    verdicts = try_laws(module, **laws_attributes)
    return {verdict.law: verdict.reason for verdict in verdicts if verdict.outcome is Outcome.BROKEN}


def root(self: object, payloads: Sequence[float]) -> float:
    if min(payloads) < 0:
        raise ValueError("no root of a negative number")
    return math.sqrt(sum(sorted(payloads)))


Root = module_class(Aggregate[float, float], compute_result=root)
"""The root of the sum, which refuses negative payloads with a `ValueError`."""


@pytest.mark.parametrize(
    ("honest", "law_name"),
    [
        (HonestTimeSensitiveAggregate, "test_accepted_clips_work"),
        (HonestIncrementalAggregate, "test_removing_undoes_adding"),
        (HonestColumnarAggregate, "test_arrays_are_read_only"),
    ],
)
def test_a_value_error_does_not_excuse_modules_that_raise_it_where_they_break_a_law(
    honest: type[Module], law_name: str
) -> None:
    law = law_name.removeprefix("test_").replace("_", " ")
    for module in HOSTILE[honest, law_name]:
        verdict = next(verdict for verdict in try_laws(module()) if verdict.law == law)
        assert verdict.outcome is Outcome.BROKEN, verdict


def test_laws_are_untried_and_not_broken_where_a_module_refuses_payloads_with_a_value_error() -> None:
    outcome_counts = Counter(verdict.outcome for verdict in try_laws(Root()))
    assert outcome_counts[Outcome.UNTRIED] == 4
    assert outcome_counts[Outcome.BROKEN] == 0


def test_all_laws_are_tried_and_kept_with_payloads_that_the_module_accepts() -> None:
    verdicts = list(try_laws(Root(), payloads=st.floats(0, 9)))
    assert len(verdicts) == len(laws_of(laws_for(Root())))
    assert {verdict.outcome for verdict in verdicts} == {Outcome.KEPT}


class InSelf(IncrementalAggregate[float, float, float]):
    """Has on itself what belongs into the state."""

    name, version = "demo.in_self", "1.0.0"

    def __init__(self) -> None:
        self.total = 0.0

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> float:
        self.total += sum(payloads)
        return self.total

    def compute_result(self, state: float) -> float:
        return state


def test_a_module_that_sums_on_itself_is_reported_for_that_and_not_for_the_order() -> None:
    verdicts = {verdict.law: verdict for verdict in try_laws(InSelf())}
    (broken,) = (verdict for verdict in verdicts.values() if verdict.outcome is Outcome.BROKEN)
    assert broken.law == "same payloads same result"
    assert "keep nothing between calls on self" in broken.reason

    order = verdicts["order does not matter"]
    assert order.outcome is Outcome.SKIPPED
    assert order.reason == "another law is broken first: same payloads same result"


def test_a_test_class_reports_that_law_too_when_pytest_runs_another_one() -> None:
    class TestInSelf(testing.IncrementalAggregateLaws):
        module = InSelf()

    with pytest.raises(testing.LawError, match="breaks the law: same payloads same result"):
        TestInSelf().test_order_does_not_matter()


def test_the_missing_types_of_a_class_are_reported_once() -> None:
    first, *later_verdicts = try_laws(module_class(Aggregate, compute_result=root)())
    assert first.law == "definition is complete"
    assert first.outcome is Outcome.BROKEN
    assert first.reason.startswith("Made does not say its types")
    assert {verdict.outcome for verdict in later_verdicts} == {Outcome.SKIPPED}
    assert not any("types" in verdict.reason for verdict in later_verdicts)


def test_the_laws_of_a_vectorised_function_are_untried_without_its_arguments() -> None:
    @function("demo.identity", version="1.0.0", result=float, vectorized=True)
    def identity(column: object) -> object:
        return column

    assert outcomes(identity) == {Outcome.UNTRIED}
    assert outcomes(identity, arguments=st.tuples(st.floats(0, 9))) == {Outcome.KEPT}


def test_a_module_has_laws_and_its_class_has_none() -> None:
    with pytest.raises(ModuleDefinitionError, match="an instance of a module class"):
        laws_for(Root)


def collecting(add_events: Any) -> Any:
    """Return a module that counts the payloads in its state, with a method that should add them."""
    return module_class(
        IncrementalAggregate[int, list[int], int],
        create_state=lambda self: [],
        add_events=add_events,
        combine=lambda self, state, other: [*state, *other],
        compute_result=lambda self, state: len(state),
    )()


@pytest.mark.parametrize(
    ("add_events", "reasons"),
    [
        (
            lambda self, state, payloads: state.extend(payloads),
            [
                "add_events returned None, expected a state: list[int]",
                "to do: end add_events with: return ..., the state",
            ],
        ),
        (lambda self, state, payloads: 1 / 0, ["add_events raised ZeroDivisionError: division by zero"]),
    ],
    ids=["returns nothing", "raises"],
)
def test_a_fault_that_makes_all_laws_fail_is_reported_for_one_and_skips_the_others(
    add_events: Any, reasons: list[str]
) -> None:
    verdicts = list(try_laws(collecting(add_events)))
    (broken,) = [verdict for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    for reason in reasons:
        assert reason in broken.reason

    reasons_of_others = [verdict.reason for verdict in verdicts if verdict.reason.startswith("add_events fails")]
    assert len(reasons_of_others) > 8
    assert set(reasons_of_others) == {f"add_events fails as it does under the law: {broken.law}"}


def test_a_state_may_be_none_where_its_type_says_so() -> None:
    def larger(self: object, state: int | None, payloads: Sequence[int | None]) -> int | None:
        numbers = [number for number in (state, *payloads) if number is not None]
        return max(numbers, default=None)

    largest = module_class(
        IncrementalAggregate[int | None, int | None, int | None],
        create_state=lambda self: None,
        add_events=larger,
        compute_result=lambda self, state: state,
    )
    assert outcomes(largest()) == {Outcome.KEPT, Outcome.SKIPPED}


@pytest.mark.parametrize(
    "nameless",
    [
        module_class(Aggregate[float, float], name=None, compute_result=lambda self, payloads: max(payloads)),
        module_class(RowOperator[int, int, int, None], name=None, create_state=lambda self: 0),
    ],
    ids=["aggregate", "row operator"],
)
def test_the_report_on_a_class_without_a_name_says_how_to_give_it_one(nameless: Any) -> None:
    reports = reports_of_broken_laws(nameless())
    assert reports.keys() == {"definition is complete"}
    report = reports["definition is complete"]
    assert report.startswith("Made 1.0.0 breaks the law")
    assert "Made has no name\n    set the class attribute: name = '<plugin>.<module>'" in report


def spread(self: object, payloads: Sequence[float]) -> float | None:
    return max(payloads) - min(payloads) if len(payloads) > 1 else None


@function("demo.root", version="1.0.0")
def real_root(value: float) -> float:
    return float(value) ** 0.5 if value >= 0 else None  # type: ignore[return-value]  # that is the fault


def two_least(self: object, payloads: Sequence[float]) -> Any:
    least, *larger = sorted(payloads)
    return {"least": least, "second": larger[0] if larger else None}


@pytest.mark.parametrize(
    ("subject", "reasons"),
    [
        (
            module_class(Aggregate[float, float], compute_result=spread)(),
            ["the result None does not fit: it is None, expected float\n", "declare None too: float | None"],
        ),
        (real_root, ["the value None"]),
        (module_class(Aggregate[float, dict[str, float]], compute_result=two_least)(), ["['second'] is None"]),
    ],
    ids=["result", "function", "part of a record"],
)
def test_a_result_of_none_breaks_a_law_where_the_declared_type_has_no_none(subject: Any, reasons: list[str]) -> None:
    reports = reports_of_broken_laws(subject)
    assert reports.keys() == {"result has declared type"}
    for reason in reasons:
        assert reason in reports["result has declared type"]


def test_a_result_of_none_breaks_no_law_where_the_declared_type_has_none() -> None:
    assert reports_of_broken_laws(module_class(Aggregate[float, float | None], compute_result=spread)()) == {}


# Modules that read the order of their payloads.


def joined(self: object, payloads: Sequence[str]) -> str:
    return "".join(payloads)


Joined = module_class(Aggregate[str, str], compute_result=joined)
OrderedJoin = module_class(Aggregate[str, str], compute_result=joined, reads_order=True)


class Route(IncrementalAggregate[str, list[str], str]):
    """The stops in order, without those that repeat the stop before them: a, a, b, a is a-b-a."""

    name, version = "demo.route", "1.0.0"
    reads_order = True

    def create_state(self) -> list[str]:
        return []

    def add_events(self, state: list[str], payloads: Sequence[str]) -> list[str]:
        for stop in payloads:
            if state[-1:] != [stop]:
                state.append(stop)
        return state

    def combine(self, state: list[str], other: list[str]) -> list[str]:
        return self.add_events(state, other)

    def compute_result(self, state: list[str]) -> str:
        return "-".join(state)


class Latest(IncrementalAggregate[int, list[tuple[int, int]], int]):
    """The payload of the last event; raises an exception if events go back in time."""

    name, version = "demo.latest", "1.0.0"
    is_time_sensitive = True
    reads_order = True

    def create_state(self, window: Window) -> list[tuple[int, int]]:
        return []

    def add_events(
        self, state: list[tuple[int, int]], events: Sequence[Event[int]], window: Window
    ) -> list[tuple[int, int]]:
        for event in events:
            if state and state[-1][0] > event.start:
                raise ValueError("events go back in time")
            state = [*state, (event.start, event.payload)]
        return state

    def compute_result(self, state: list[tuple[int, int]], window: Window) -> int:
        return state[-1][1]


LETTERS = st.sampled_from("abc")


def test_a_join_of_strings_breaks_a_law_until_it_says_that_it_reads_the_order() -> None:
    (report,) = reports_of_broken_laws(Joined(), payloads=LETTERS).values()
    assert report.endswith("keep all that tie, or say reads_order = True")
    assert reports_of_broken_laws(OrderedJoin(), payloads=LETTERS) == {}


def test_pytest_skips_the_law_of_order_for_a_module_that_reads_the_order() -> None:
    laws: Any = type("TestJoin", (AggregateLaws,), {"module": OrderedJoin()})()
    with pytest.raises(pytest.skip.Exception, match="says that it reads the order"):
        laws.test_order_does_not_matter()


@pytest.mark.parametrize(
    "module",
    [
        Route(),
        CollectList[str](),
        First[str](),
        Last[str](),
        filtering(Route, "b".__lt__)(),
        preset(Route)(),
        all_of(route=Route, first=First)(),
    ],
    ids=lambda module: module.name,
)
def test_a_module_that_reads_the_order_keeps_the_other_laws(module: Any) -> None:
    assert module.reads_order
    assert reports_of_broken_laws(module, payloads=LETTERS) == {}


def test_events_come_in_the_order_of_their_times_where_a_module_reads_the_order() -> None:
    assert Latest.reads_order
    assert reports_of_broken_laws(Latest()) == {}


def remove_from_the_end(self: object, state: list[str], removed: Sequence[str | None]) -> list[str]:
    removed_count = sum(payload is not None for payload in removed)
    return state[: len(state) - removed_count]


def add_the_first(self: object, state: list[str], payloads: Sequence[str]) -> list[str]:
    return [*state, payloads[0]]


def combine_backwards(self: Any, state: list[str], later: list[str]) -> list[str]:
    return Route.combine(self, list(later), state)


@pytest.mark.parametrize(
    ("module", "law"),
    [
        (module_class(CollectList[str], remove_events=remove_from_the_end)(), "removing undoes adding"),
        (module_class(Route, add_events=add_the_first)(), "splitting does not matter"),
        (module_class(Route, combine=combine_backwards)(), "combining equals adding"),
    ],
    ids=["removes the latest", "adds one per call", "combines the later state with the earlier one"],
)
@pytest.mark.usefixtures("tried_as_by_users")
def test_a_module_that_reads_the_order_and_breaks_another_law_is_found(module: Any, law: str) -> None:
    laws = type("TestBroken", (laws_for(module),), {"module": module, "payloads": LETTERS})()
    try_law = getattr(laws, f"test_{law.replace(' ', '_')}")
    with pytest.raises(LawError, match=law):
        try_law()


def test_a_module_that_reads_the_order_has_no_columnar_form() -> None:
    route_on_arrays = module_class(Route, columnar_form=lambda self, reads: None)
    (report,) = reports_of_broken_laws(route_on_arrays(), payloads=LETTERS).values()
    assert "it reads the order, and defines columnar_form, for which rows are in none" in report


def test_a_columnar_aggregate_that_reads_the_order_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match="reads the order, and the rows of an array are in none"):
        module_class(columnar_modules.Mean, reads_order=True).check_definition()


def test_a_filtered_module_reads_the_order_where_there_is_one_and_the_module_would() -> None:
    """`TopBy` then breaks ties by who came first."""
    best = filtering(TopBy, lambda value, by: by > 0)(1)
    ordered = best.with_order()
    assert not best.reads_order
    assert ordered.reads_order

    state = ordered.add_events(ordered.create_state(), [Ranked("b", 1), Ranked("a", 1), Ranked("c", 0)])
    assert [row.value for row in ordered.compute_result(state)] == ["b"]


def test_modules_that_do_not_read_an_order_do_not_in_a_combination_either() -> None:
    assert not all_of(total=Sum, again=Sum)().with_order().reads_order


def test_a_function_of_a_list_breaks_the_law_of_order_unless_it_says_that_it_reads_the_order() -> None:
    def text(*, reads_order: bool) -> Any:
        cls = from_function("".join, name="demo.text", version="1.0.0", input=str, result=str, reads_order=reads_order)
        return cls()

    assert reports_of_broken_laws(text(reads_order=True), payloads=LETTERS) == {}
    assert reports_of_broken_laws(text(reads_order=False), payloads=LETTERS).keys() == {"order does not matter"}


def last_and_sum(self: Any, payloads: Sequence[float]) -> float:
    self.latest[0] = np.asarray(payloads)
    return sum(payloads)


def test_an_array_that_a_call_puts_into_a_container_is_taken_out_again() -> None:
    module = module_class(Aggregate[float, float], latest=[0.0], compute_result=last_and_sum)()
    assert {verdict.outcome for verdict in try_laws(module)} == {Outcome.KEPT}
