"""All laws of a module at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from muntin import Aggregate, IncrementalAggregate, Module, RowOperator, function, testing
from muntin.errors import ModuleDefinitionError
from muntin.testing import Outcome, laws_applying_to, laws_for, laws_of, try_laws
from tests.hostile.muntin_hostile import HONEST, HOSTILE
from tests.hostile.muntin_hostile.columnar import HonestColumnarAggregate
from tests.hostile.muntin_hostile.honest import HonestIncrementalAggregate, HonestTimeSensitiveAggregate


class Root(Aggregate[float, float]):
    """Refuses negative numbers, in words."""

    name, version = "demo.root", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        if min(payloads) < 0:
            raise ValueError("no root of a negative number")
        return math.sqrt(sum(sorted(payloads)))


@function("demo.longest", version="1.0.0", result=float, vectorized=True)
def longest(texts: object) -> object:
    return texts


@pytest.mark.parametrize("honest", HONEST, ids=lambda honest: honest.__name__)
def test_an_honest_module_keeps_all_laws_that_apply(honest: type[Module]) -> None:
    module = honest()
    verdicts = {verdict.law: verdict.outcome for verdict in try_laws(module)}
    assert laws_for(module) is HONEST[honest]
    assert {law for law, outcome in verdicts.items() if outcome is Outcome.KEPT} == set(laws_applying_to(module))
    assert set(verdicts.values()) <= {Outcome.KEPT, Outcome.SKIPPED}


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


class Untyped(Aggregate):  # type: ignore[type-arg]  # that is the point
    name, version = "demo.untyped", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return 0.0


def test_a_class_without_types_is_told_so_once() -> None:
    first, *others = try_laws(Untyped())
    assert (first.law, first.outcome) == ("definition is complete", Outcome.BROKEN)
    assert first.reason.startswith("Untyped does not say its types")
    assert {verdict.outcome for verdict in others} == {Outcome.SKIPPED}
    assert not any("types" in verdict.reason for verdict in others)


def test_a_vectorised_function_needs_to_be_told_what_may_come() -> None:
    assert {verdict.outcome for verdict in try_laws(longest)} == {Outcome.UNTRIED}
    tried = try_laws(longest, arguments=st.tuples(st.floats(0, 9)))
    assert {verdict.outcome for verdict in tried} == {Outcome.KEPT}


def test_a_class_has_no_laws_only_a_module_has() -> None:
    with pytest.raises(ModuleDefinitionError, match="an instance of a module class"):
        laws_for(Root)  # type: ignore[arg-type]  # which is the point


class Forgets(IncrementalAggregate[int, list[int], int]):
    """Its `add_events` changes the state and returns nothing."""

    name, version = "demo.forgets", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:  # type: ignore[return]  # the fault
        state.extend(payloads)

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [*state, *other]

    def compute_result(self, state: list[int]) -> int:
        return len(state)


class Largest(IncrementalAggregate[int | None, int | None, int | None]):
    """Has None for a state until there is a payload."""

    name, version = "demo.largest", "1.0.0"

    def create_state(self) -> int | None:
        return None

    def add_events(self, state: int | None, payloads: Sequence[int | None]) -> int | None:
        return max((value for value in (state, *payloads) if value is not None), default=None)

    def compute_result(self, state: int | None) -> int | None:
        return state


class Raises(Forgets):
    name = "demo.raises"

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (Forgets(), "add_events returned None, expected a state: list[int]"),
        (Raises(), "add_events raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_makes_all_laws_fail_is_one_finding(module: Forgets, told: str) -> None:
    verdicts = list(try_laws(module))
    (broken,) = [verdict for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    assert told in broken.reason
    others = [verdict.reason for verdict in verdicts if verdict.reason.startswith("add_events fails")]
    assert len(others) > 8
    assert set(others) == {f"add_events fails as it does under the law: {broken.law}"}


def test_a_forgotten_return_is_told_with_what_to_write() -> None:
    (broken,) = [verdict for verdict in try_laws(Forgets()) if verdict.outcome is Outcome.BROKEN]
    assert "to do: end add_events with: return ..., the state" in broken.reason


def test_a_state_may_be_none_where_its_type_says_so() -> None:
    assert {verdict.outcome for verdict in try_laws(Largest())} == {Outcome.KEPT, Outcome.SKIPPED}


class Nameless(Aggregate[float, float]):
    version = "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return max(payloads)


class Rows(RowOperator[int, int, int, None]):
    version = "1.0.0"

    def create_state(self) -> int:
        return 0


def test_a_class_without_a_name_is_told_that_it_has_none() -> None:
    for module in (Nameless(), Rows()):
        broken = {verdict.law: verdict.reason for verdict in try_laws(module) if verdict.outcome is Outcome.BROKEN}
        title = type(module).__name__
        assert broken.keys() == {"definition is complete"}
        assert broken["definition is complete"].startswith(f"{title} 1.0.0 breaks the law")
        assert (
            f"{title} has no name\n    set the class attribute: name = '<plugin>.<module>'"
            in broken["definition is complete"]
        )


class Forgetful(Aggregate[float, float]):
    """Has a path without return, for windows of one member."""

    name, version = "demo.forgetful", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:  # type: ignore[return]  # noqa: RET503
        if len(payloads) > 1:
            return max(payloads) - min(payloads)


class Nullable(Aggregate[float, float | None]):
    """The same, and says so."""

    name, version = "demo.nullable", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float | None:
        return max(payloads) - min(payloads) if len(payloads) > 1 else None


def test_none_is_a_result_only_where_the_declared_type_has_it() -> None:
    broken = {verdict.law: verdict.reason for verdict in try_laws(Forgetful()) if verdict.outcome is Outcome.BROKEN}
    assert broken.keys() == {"result has declared type"}
    assert "the result None does not fit: it is None, expected float\n" in broken["result has declared type"]
    assert "declare None too: float | None" in broken["result has declared type"]
    assert not [verdict for verdict in try_laws(Nullable()) if verdict.outcome is Outcome.BROKEN]


def test_the_same_holds_of_functions_and_of_parts_of_a_record() -> None:
    @function("demo.root", version="1.0.0")
    def root(value: float) -> float:
        return float(value) ** 0.5 if value >= 0 else None  # type: ignore[return-value]

    class Pairs(Aggregate[float, dict[str, float]]):
        name, version = "demo.pairs", "1.0.0"

        def compute_result(self, payloads: Sequence[float]) -> Any:
            return {"least": min(payloads), "second": sorted(payloads)[1] if len(payloads) > 1 else None}

    for subject, wrong in ((root, "the value None"), (Pairs(), "['second'] is None")):
        broken = {verdict.law: verdict.reason for verdict in try_laws(subject) if verdict.outcome is Outcome.BROKEN}
        assert broken.keys() == {"result has declared type"}
        assert wrong in broken["result has declared type"]
