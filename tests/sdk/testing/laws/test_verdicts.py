"""All laws of a module at once; and those of modules that read the order: it means something, and splits do not."""

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


def root(self: object, payloads: Sequence[float]) -> float:
    if min(payloads) < 0:
        raise ValueError("no root of a negative number")
    return math.sqrt(sum(sorted(payloads)))


Root = module_class(Aggregate[float, float], compute_result=root)


@function("demo.longest", version="1.0.0", result=float, vectorized=True)
def longest(texts: object) -> object:
    return texts


@pytest.mark.parametrize(
    ("honest", "test"),
    [
        (HonestTimeSensitiveAggregate, "test_accepted_clips_work"),
        (HonestIncrementalAggregate, "test_removing_undoes_adding"),
        (HonestColumnarAggregate, "test_arrays_are_read_only"),
    ],
)
def test_a_value_error_excuses_only_payloads_that_are_refused(honest: type[Module], test: str) -> None:
    law = test.removeprefix("test_").replace("_", " ")
    for module in HOSTILE[honest, test]:
        verdict = next(verdict for verdict in try_laws(module()) if verdict.law == law)
        assert verdict.outcome is Outcome.BROKEN, verdict


def test_what_a_module_refuses_in_words_is_no_breach_of_a_law() -> None:
    counts = Counter(verdict.outcome for verdict in try_laws(Root()))
    assert counts[Outcome.UNTRIED] == 4
    assert counts[Outcome.BROKEN] == 0


def test_with_what_may_come_all_laws_are_tried() -> None:
    verdicts = list(try_laws(Root(), payloads=st.floats(0, 9)))
    assert len(verdicts) == len(laws_of(laws_for(Root())))
    assert {verdict.outcome for verdict in verdicts} == {Outcome.KEPT}


class InSelf(IncrementalAggregate[float, float, float]):
    """Keeps on itself what belongs into the state."""

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


def test_what_a_module_keeps_on_itself_is_told_as_that_and_not_as_order() -> None:
    verdicts = {verdict.law: verdict for verdict in try_laws(InSelf())}
    (broken,) = (verdict for verdict in verdicts.values() if verdict.outcome is Outcome.BROKEN)
    assert broken.law == "same payloads same result"
    assert "keep nothing between calls on self" in broken.reason
    order = verdicts["order does not matter"]
    assert (order.outcome, order.reason) == (Outcome.SKIPPED, "another law is broken first: same payloads same result")

    class TestInSelf(testing.IncrementalAggregateLaws):
        module = InSelf()

    with pytest.raises(testing.LawError, match="breaks the law: same payloads same result"):
        TestInSelf().test_order_does_not_matter()


def test_a_class_without_types_is_told_so_once() -> None:
    first, *later_verdicts = try_laws(module_class(Aggregate, compute_result=root)())
    assert (first.law, first.outcome) == ("definition is complete", Outcome.BROKEN)
    assert first.reason.startswith("Made does not say its types")
    assert {verdict.outcome for verdict in later_verdicts} == {Outcome.SKIPPED}
    assert not any("types" in verdict.reason for verdict in later_verdicts)


def test_a_vectorised_function_needs_to_be_told_what_may_come() -> None:
    assert {verdict.outcome for verdict in try_laws(longest)} == {Outcome.UNTRIED}
    tried = try_laws(longest, arguments=st.tuples(st.floats(0, 9)))
    assert {verdict.outcome for verdict in tried} == {Outcome.KEPT}


def test_a_class_has_no_laws_only_a_module_has() -> None:
    with pytest.raises(ModuleDefinitionError, match="an instance of a module class"):
        laws_for(Root)


def collecting(add_events: Any) -> Any:
    """Return a module that counts what it collects in its state."""
    return module_class(
        IncrementalAggregate[int, list[int], int],
        create_state=lambda self: [],
        add_events=add_events,
        combine=lambda self, state, other: [*state, *other],
        compute_result=lambda self, state: len(state),
    )()


FORGETS = collecting(lambda self, state, payloads: state.extend(payloads))
RAISES = collecting(lambda self, state, payloads: 1 / 0)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (FORGETS, "add_events returned None, expected a state: list[int]"),
        (RAISES, "add_events raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_fault_that_makes_all_laws_fail_is_one_finding(module: Any, reason: str) -> None:
    verdicts = list(try_laws(module))
    (broken,) = [verdict for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    assert reason in broken.reason
    assert module is RAISES or "to do: end add_events with: return ..., the state" in broken.reason
    reasons = [verdict.reason for verdict in verdicts if verdict.reason.startswith("add_events fails")]
    assert len(reasons) > 8
    assert set(reasons) == {f"add_events fails as it does under the law: {broken.law}"}


def test_a_state_may_be_none_where_its_type_says_so() -> None:
    largest = module_class(
        IncrementalAggregate[int | None, int | None, int | None],
        create_state=lambda self: None,
        add_events=lambda self, state, payloads: max(
            (value for value in (state, *payloads) if value is not None), default=None
        ),
        compute_result=lambda self, state: state,
    )
    assert {verdict.outcome for verdict in try_laws(largest())} == {Outcome.KEPT, Outcome.SKIPPED}


def test_a_class_without_a_name_is_told_that_it_has_none() -> None:
    nameless = module_class(Aggregate[float, float], name=None, compute_result=lambda self, payloads: max(payloads))
    rows = module_class(RowOperator[int, int, int, None], name=None, create_state=lambda self: 0)
    for module in (nameless(), rows()):
        broken = {verdict.law: verdict.reason for verdict in try_laws(module) if verdict.outcome is Outcome.BROKEN}
        title = type(module).__name__
        assert broken.keys() == {"definition is complete"}
        assert broken["definition is complete"].startswith(f"{title} 1.0.0 breaks the law")
        assert (
            f"{title} has no name\n    set the class attribute: name = '<plugin>.<module>'"
            in broken["definition is complete"]
        )


def spread(self: object, payloads: Sequence[float]) -> float | None:
    return max(payloads) - min(payloads) if len(payloads) > 1 else None


@function("demo.root", version="1.0.0")
def real_root(value: float) -> float:
    return float(value) ** 0.5 if value >= 0 else None  # type: ignore[return-value]


def pairs(self: object, payloads: Sequence[float]) -> Any:
    return {"least": min(payloads), "second": sorted(payloads)[1] if len(payloads) > 1 else None}


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (
            module_class(Aggregate[float, float], compute_result=spread)(),
            "the result None does not fit: it is None, expected float\n",
        ),
        (real_root, "the value None"),
        (module_class(Aggregate[float, dict[str, float]], compute_result=pairs)(), "['second'] is None"),
    ],
    ids=["result", "function", "part of a record"],
)
def test_none_is_a_result_only_where_the_declared_type_has_it(subject: Any, reason: str) -> None:
    broken = broken_by(subject)
    assert broken.keys() == {"result has declared type"}
    assert reason in broken["result has declared type"]
    if subject is not real_root and "expected" in reason:
        assert "declare None too: float | None" in broken["result has declared type"]
    assert broken_by(module_class(Aggregate[float, float | None], compute_result=spread)()) == {}


def joined(self: object, payloads: Sequence[str]) -> str:
    return "".join(payloads)


Joined, OrderedJoin = (
    module_class(Aggregate[str, str], compute_result=joined, reads_order=reads) for reads in (False, True)
)


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
    verdicts = try_laws(module, **({} if payloads is None else {"payloads": payloads}))
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


LAST_FIRST = module_class(
    CollectList[str], remove_events=lambda self, state, removed: state[: len(state) - len(list(filter(None, removed)))]
)
CALLS = module_class(Route, add_events=lambda self, state, payloads: [*state, payloads[0]])
SWAPPED = module_class(Route, combine=lambda self, state, other: Route.combine(self, list(other), state))
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
    (report,) = broken_by(module_class(Route, columnar_form=lambda self, reads: None)(), LETTERS).values()
    assert "it reads the order, and defines columnar_form, for which rows are in none" in report
    with pytest.raises(ModuleDefinitionError, match="reads the order, and the rows of an array are in none"):
        module_class(columnar_modules.Mean, reads_order=True).check_definition()


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


def last_and_sum(self: Any, payloads: Sequence[float]) -> float:
    self.latest[0] = np.asarray(payloads)
    return sum(payloads)


def test_an_array_that_a_call_puts_into_a_container_is_taken_out_again() -> None:
    module = module_class(Aggregate[float, float], latest=[0.0], compute_result=last_and_sum)()
    assert {verdict.outcome for verdict in try_laws(module)} == {Outcome.KEPT}
