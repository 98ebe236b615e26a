"""The laws of modules that read the order: how payloads are split means nothing, their order does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from muntin import Aggregate, Event, IncrementalAggregate, Window
from muntin.errors import ModuleDefinitionError
from muntin.testing import AggregateLaws, LawError, Outcome, laws_for, try_laws
from muntin_adapters import from_function
from muntin_adapters.combinators import all_of, filtering, preset
from muntin_stats import CollectList, First, Last, Ranked, Sum, TopBy
from tests.sdk import columnar_modules
from tests.sdk.made import made


def joined(self: object, payloads: Sequence[str]) -> str:
    return "".join(payloads)


Joined, OrderedJoin = (made(Aggregate[str, str], compute_result=joined, reads_order=reads) for reads in (False, True))


class Route(IncrementalAggregate[str, list[str], str]):
    """Each stop once for as long as it lasts: a, a, b, a is a-b-a."""

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


class Lasting(IncrementalAggregate[int, list[tuple[int, int]], int]):
    """The payload of the last event, and fails if events go back in time."""

    name, version = "demo.lasting", "1.0.0"
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


def broken_by(module: Any, payloads: Any = None) -> dict[str, str]:
    """Return the laws that a module breaks, with what is said of each."""
    verdicts = try_laws(module, payloads=payloads)
    return {verdict.law: verdict.reason for verdict in verdicts if verdict.outcome is Outcome.BROKEN}


LETTERS = st.sampled_from("abc")


def test_a_join_of_strings_breaks_a_law_until_it_says_that_it_reads_the_order() -> None:
    (report,) = broken_by(Joined(), LETTERS).values()
    assert report.endswith("keep all that tie, or say reads_order = True")
    assert broken_by(OrderedJoin(), LETTERS) == {}
    laws: Any = type("TestJoin", (AggregateLaws,), {"module": OrderedJoin()})()
    with pytest.raises(pytest.skip.Exception, match="says that it reads the order"):
        laws.test_order_does_not_matter()


@pytest.mark.parametrize(
    "module",
    [
        Route(),
        Lasting(),
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
    assert broken_by(module, None if isinstance(module, Lasting) else LETTERS) == {}


LAST_FIRST = made(
    CollectList[str], remove_events=lambda self, state, gone: state[: len(state) - len(list(filter(None, gone)))]
)
CALLS = made(Route, add_events=lambda self, state, payloads: [*state, payloads[0]])
SWAPPED = made(Route, combine=lambda self, state, other: Route.combine(self, list(other), state))
"""Removes from the wrong end; counts calls, not payloads; puts the later state before the earlier one."""


@pytest.mark.parametrize(
    ("module", "law"),
    [
        (LAST_FIRST(), "removing undoes adding"),
        (CALLS(), "splitting does not matter"),
        (SWAPPED(), "combining equals adding"),
    ],
)
@pytest.mark.usefixtures("tried_as_by_users")
def test_a_broken_one_is_found(module: Any, law: str) -> None:
    with pytest.raises(LawError, match=law):
        getattr(
            type("TestBroken", (laws_for(module),), {"module": module, "payloads": LETTERS})(),
            f"test_{law.replace(' ', '_')}",
        )()


def test_arrays_have_no_order() -> None:
    (report,) = broken_by(made(Route, columnar_form=lambda self, reads: None)(), LETTERS).values()
    assert "it reads the order, and defines columnar_form, for which rows are in none" in report
    with pytest.raises(ModuleDefinitionError, match="reads the order, and the rows of an array are in none"):
        made(columnar_modules.Mean, reads_order=True).check_definition()


def test_combinators_pass_on_what_a_module_is_where_there_is_an_order() -> None:
    best = filtering(TopBy, lambda value, by: by > 0)(1)
    ordered = best.with_order()
    assert (best.reads_order, ordered.reads_order) == (False, True)
    rows = [Ranked("b", 1), Ranked("a", 1), Ranked("c", 0)]
    assert [row.value for row in ordered.compute_result(ordered.add_events(ordered.create_state(), rows))] == ["b"]
    plain = all_of(total=Sum, again=Sum)()
    assert not plain.with_order().reads_order


def test_a_function_of_a_list_may_read_the_order() -> None:
    for reads_order, broken in ((True, set()), (False, {"order does not matter"})):
        cls = from_function("".join, name="demo.text", version="1.0.0", input=str, result=str, reads_order=reads_order)
        assert broken_by(cls(), LETTERS).keys() == broken
