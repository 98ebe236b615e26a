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
from muntin.testing import Outcome, laws_for, laws_of, try_laws
from tests.hostile.muntin_hostile import HOSTILE
from tests.hostile.muntin_hostile.columnar import HonestColumnarAggregate
from tests.hostile.muntin_hostile.honest import HonestIncrementalAggregate, HonestTimeSensitiveAggregate
from tests.sdk.made import made


def root(self: object, payloads: Sequence[float]) -> float:
    if min(payloads) < 0:
        raise ValueError("no root of a negative number")
    return math.sqrt(sum(sorted(payloads)))


Root = made(Aggregate[float, float], compute_result=root)


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
    first, *others = try_laws(made(Aggregate, compute_result=root)())
    assert (first.law, first.outcome) == ("definition is complete", Outcome.BROKEN)
    assert first.reason.startswith("Made does not say its types")
    assert {verdict.outcome for verdict in others} == {Outcome.SKIPPED}
    assert not any("types" in verdict.reason for verdict in others)


def test_a_vectorised_function_needs_to_be_told_what_may_come() -> None:
    assert {verdict.outcome for verdict in try_laws(longest)} == {Outcome.UNTRIED}
    tried = try_laws(longest, arguments=st.tuples(st.floats(0, 9)))
    assert {verdict.outcome for verdict in tried} == {Outcome.KEPT}


def test_a_class_has_no_laws_only_a_module_has() -> None:
    with pytest.raises(ModuleDefinitionError, match="an instance of a module class"):
        laws_for(Root)


def collecting(add_events: Any) -> Any:
    """Return a module that counts what it collects in its state."""
    return made(
        IncrementalAggregate[int, list[int], int],
        create_state=lambda self: [],
        add_events=add_events,
        combine=lambda self, state, other: [*state, *other],
        compute_result=lambda self, state: len(state),
    )()


FORGETS = collecting(lambda self, state, payloads: state.extend(payloads))
RAISES = collecting(lambda self, state, payloads: 1 / 0)


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (FORGETS, "add_events returned None, expected a state: list[int]"),
        (RAISES, "add_events raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_makes_all_laws_fail_is_one_finding(module: Any, told: str) -> None:
    verdicts = list(try_laws(module))
    (broken,) = [verdict for verdict in verdicts if verdict.outcome is Outcome.BROKEN]
    assert told in broken.reason
    assert module is RAISES or "to do: end add_events with: return ..., the state" in broken.reason
    others = [verdict.reason for verdict in verdicts if verdict.reason.startswith("add_events fails")]
    assert len(others) > 8
    assert set(others) == {f"add_events fails as it does under the law: {broken.law}"}


def test_a_state_may_be_none_where_its_type_says_so() -> None:
    largest = made(
        IncrementalAggregate[int | None, int | None, int | None],
        create_state=lambda self: None,
        add_events=lambda self, state, more: max((one for one in (state, *more) if one is not None), default=None),
        compute_result=lambda self, state: state,
    )
    assert {verdict.outcome for verdict in try_laws(largest())} == {Outcome.KEPT, Outcome.SKIPPED}


def test_a_class_without_a_name_is_told_that_it_has_none() -> None:
    nameless = made(Aggregate[float, float], name=None, compute_result=lambda self, payloads: max(payloads))
    rows = made(RowOperator[int, int, int, None], name=None, create_state=lambda self: 0)
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


def broken_by(subject: Any) -> dict[str, str]:
    return {verdict.law: verdict.reason for verdict in try_laws(subject) if verdict.outcome is Outcome.BROKEN}


@function("demo.root", version="1.0.0")
def real_root(value: float) -> float:
    return float(value) ** 0.5 if value >= 0 else None  # type: ignore[return-value]


def pairs(self: object, payloads: Sequence[float]) -> Any:
    return {"least": min(payloads), "second": sorted(payloads)[1] if len(payloads) > 1 else None}


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (
            made(Aggregate[float, float], compute_result=spread)(),
            "the result None does not fit: it is None, expected float\n",
        ),
        (real_root, "the value None"),
        (made(Aggregate[float, dict[str, float]], compute_result=pairs)(), "['second'] is None"),
    ],
    ids=["result", "function", "part of a record"],
)
def test_none_is_a_result_only_where_the_declared_type_has_it(subject: Any, told: str) -> None:
    broken = broken_by(subject)
    assert broken.keys() == {"result has declared type"}
    assert told in broken["result has declared type"]
    if subject is not real_root and "expected" in told:
        assert "declare None too: float | None" in broken["result has declared type"]
    assert broken_by(made(Aggregate[float, float | None], compute_result=spread)()) == {}
