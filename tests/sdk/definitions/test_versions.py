"""Which versions of a module go on from which, and how combinators and adapters pass that on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from packaging.version import Version

from muntin import Aggregate, ColumnarAggregate, Component, IncrementalAggregate, Module
from muntin.definitions.versions import order_of
from muntin.schemas import describe
from muntin.testing import IncrementalAggregateLaws, LawError, OldState, Outcome, try_laws
from muntin_adapters import from_aggregator, from_function
from muntin_adapters.combinators import all_of, catching, filtering, grouping_by, preset, skipping_nulls, with_default
from muntin_adapters.combinators.grouping_by import Grouped

SPELLINGS = "1.0 1.0.0 v1.2 1.0.dev1 1.0a1 1.0a1.dev2 1.0a1.post1 1.0b2 1.0rc1 1.0.post1.dev3 1.0-1 0 1.9"


def test_versions_are_ordered_as_packages_are() -> None:
    for first_text, second_text in product(SPELLINGS.split(), repeat=2):
        first = order_of(first_text)
        second = order_of(second_text)
        assert first is not None
        assert second is not None
        assert (first < second) == (Version(first_text) < Version(second_text)), f"{first_text} and {second_text}"
        assert (first == second) == (Version(first_text) == Version(second_text)), f"{first_text} and {second_text}"


def test_what_follows_a_plus_does_not_count() -> None:
    assert order_of("1.0+first") == order_of("1.0") == order_of("1.0+second")


@pytest.mark.parametrize("text", ["", "code 7f3a", "main", "1.0 by group", "2026-11-21 19:00", "1.0+", "9" * 5000])
def test_what_is_no_number_has_no_order(text: str) -> None:
    assert order_of(text) is None


class Largest(Aggregate[float, float]):
    """An aggregate without a state."""

    name, version = "test.largest", "1.4"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return max(payloads)


class Since(Largest):
    """The same, whose results mean the same since 1.2."""

    continues_since = "1.2"


class Total(IncrementalAggregate[float, dict[str, float], float]):
    """A sum, which 1.0 kept as a number."""

    name, version = "test.total", "2.0"

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def create_state(self) -> dict[str, float]:
        return {"total": 0.0}

    def add_events(self, state: dict[str, float], payloads: Sequence[float]) -> dict[str, float]:
        return {"total": state["total"] + sum(payloads)}

    def combine(self, state: dict[str, float], other: dict[str, float]) -> dict[str, float]:
        return {"total": state["total"] + other["total"]}

    def compute_result(self, state: dict[str, float]) -> float:
        return self.scale * state["total"]

    def upgrade_state(self, state: Any, version: str) -> dict[str, float]:
        if version != "1.0":
            raise ValueError(f"{version} is unknown")
        return {"total": state}


class Wrong(Total):
    """One that forgets what was."""

    def upgrade_state(self, state: Any, version: str) -> dict[str, float]:
        return {"total": 0.0}


@pytest.mark.parametrize(
    ("module", "goes_on_from", "not_from"),
    [
        (Largest(), ["1.4", "1.4.0"], ["1.3", "1.5", "code 7f"]),
        (Since(), ["1.4", "1.3", "1.2"], ["1.1", "1.2rc1", "1.5", "code 7f"]),
        (Total(), ["2.0", "1.0", "0.1", "code 7f"], ["2.1"]),
        (skipping_nulls(Total)(), ["2.0 without nulls", "1.0 without nulls"], ["1.0", "2.1 without nulls"]),
        (catching(Total)(), ["2.0 or its error", "1.0 or its error"], ["1.0", "2.1 or its error"]),
        (with_default(Since, 0.0)(), ["1.4 or 0.0", "1.2 or 0.0"], ["1.1 or 0.0", "1.3 or 1.0"]),
        (preset(Total, scale=2.0)(), ["2.0 with scale=2.0", "1.0 with scale=2.0"], ["1.0", "1.0 with scale=3.0"]),
        (
            grouping_by(preset(Total, scale=2.0))(),
            ["1.0 with scale=2.0 by group"],
            ["1.0 by group", "1.0 with scale=2.0"],
        ),
        (
            all_of(sum=Total, top=Since)(),
            ["sum: test.total 1.0, top: test.largest 1.3"],
            ["sum: test.total 1.0, top: test.largest 1.1", "sum: test.total 1.0", "1.0"],
        ),
    ],
    ids=lambda value: f"{value.name}" if isinstance(value, Module) else "",
)
def test_a_module_goes_on_from_some_versions(module: Module, goes_on_from: list[str], not_from: list[str]) -> None:
    assert [version for version in goes_on_from if not module.continues_from(version)] == []
    assert [version for version in not_from if module.continues_from(version)] == []


def test_combinators_upgrade_what_they_wrap() -> None:
    old = OldState("1.0", [2.0, 3.0], 5.0)
    assert Total().upgrade_state(old.state, old.version) == {"total": 5.0}
    assert skipping_nulls(Total)().upgrade_state((2, 5.0), "1.0 without nulls") == (2, {"total": 5.0})
    assert preset(Total, scale=2.0)().upgrade_state(5.0, "1.0 with scale=2.0") == {"total": 5.0}
    grouped = grouping_by(Total)()
    state = grouped.upgrade_state({"a": (2, 5.0)}, "1.0 by group")
    assert grouped.compute_result(grouped.add_events(state, [Grouped("a", 1.0)])) == {"a": 6.0}
    filtered = filtering(Total, lambda payload: payload > 0)()
    assert filtered.compute_result(filtered.upgrade_state((1, 5.0), filtered.version.replace("2.0", "1.0", 1))) == 5.0
    caught = catching(Total)()
    assert caught.upgrade_state((5.0, None), "1.0 or its error") == ({"total": 5.0}, None)
    assert caught.upgrade_state((None, "failed"), "1.0 or its error") == (None, "failed")


def test_all_of_upgrades_those_that_changed() -> None:
    module = all_of(sum=Total, again=preset(Total, scale=2.0))()
    version = "sum: test.total 1.0, again: test.total 2.0 with scale=2.0"
    assert module.continues_from(version)
    assert module.compute_result(module.upgrade_state([5.0, {"total": 5.0}], version)) == {"sum": 5.0, "again": 10.0}


def test_modules_without_upgrade_state_get_none_by_being_wrapped() -> None:
    for wrapped in (skipping_nulls(Largest), with_default(Largest, 0.0), grouping_by(Largest), all_of(top=Largest)):
        assert not hasattr(wrapped, "upgrade_state")


class Mean(ColumnarAggregate[float, float]):
    """A mean, whose component `total` was called `sum` in 1.0."""

    name, version = "test.mean", "2.0"

    def components(self) -> dict[str, Component]:
        return {"total": Component.sum(), "count": Component.count()}

    def lift(self, payloads: Any) -> dict[str, Any]:
        return {"total": payloads}

    def compute_results(self, components: Any) -> Any:
        return components["total"] / components["count"]

    def upgrade_state(self, state: Any, version: str) -> dict[str, Any]:
        assert version == "1.0"
        return {"payloads": state["payloads"], "kept": {"total": state["kept"]["sum"], "count": state["payloads"]}}


@pytest.mark.parametrize(
    ("combined", "version", "prefix"),
    [
        (with_default(Mean, 0.0), "1.0 or 0.0", ""),
        (skipping_nulls(Mean), "1.0 without nulls", ""),
        (all_of(mean=Mean), "mean: test.mean 1.0", "mean."),
        (with_default(skipping_nulls(Mean), 0.0), "1.0 without nulls or 0.0", ""),
    ],
    ids=["with default", "skipping nulls", "all of", "both"],
)
def test_columnar_forms_of_combinators_upgrade_what_they_wrap(combined: Any, version: str, prefix: str) -> None:
    form = combined().columnar_form(describe(float, "x"))
    old = {"payloads": 2, "kept": {f"{prefix}sum": 5.0, f"{prefix}count": 2}}
    assert form.upgrade_state(old, version)["kept"] == {f"{prefix}total": 5.0, f"{prefix}count": 2}
    assert Mean.upgrade_state is vars(Mean)["upgrade_state"]


def test_adapters_take_what_foreign_code_does_not_have() -> None:
    class Longest:
        def zero(self) -> int:
            return 0

        def reduce(self, state: int, text: str) -> int:
            return max(state, len(text))

        def merge(self, state: int, other: int) -> int:
            return max(state, other)

        def finish(self, state: int) -> int:
            return state

    adapted = from_aggregator(Longest, name="test.longest", version="2.0", upgrade_state=lambda state, _: len(state))()
    assert adapted.continues_from("1.0")
    assert adapted.compute_result(adapted.upgrade_state("abc", "1.0")) == 3
    function = from_function(max, name="test.max", version="2.0", input=float, result=float, continues_since="1.0")()
    assert function.continues_from("1.5")
    assert not function.continues_from("0.9")


class TestTotal(IncrementalAggregateLaws):
    module = Total()
    old_states = (OldState("1.0", [2.0, 3.0], 5.0), OldState("1.0", [], 0.0))


def outcome(module: Any, **attributes: Any) -> dict[str, tuple[Outcome, str]]:
    return {verdict.law: (verdict.outcome, verdict.reason) for verdict in try_laws(module, **attributes)}


def test_an_upgrade_that_forgets_is_found() -> None:
    kind, reason = outcome(Wrong(), old_states=[OldState("1.0", [2.0], 2.0)])["old states are upgraded"]
    assert kind is Outcome.BROKEN
    assert "a state of 1.0, upgraded: 0.0\na new state: 2.0" in reason.replace("  ", "")


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (OldState("3.0", [2.0], 2.0), "it does not continue from its version 3.0"),
        (OldState("1.0", [2.0], object()), "no checkpoint holds such a state of an older version"),
        (OldState("0.9", [2.0], 2.0), "upgrade_state raised ValueError: 0.9 is unknown"),
    ],
    ids=["newer", "no plain data", "unknown"],
)
def test_an_old_state_that_cannot_be_upgraded_is_told(old: OldState, message: str) -> None:
    suite = type("TestOld", (IncrementalAggregateLaws,), {"module": Total(), "old_states": [old]})
    with pytest.raises(LawError, match=message):
        suite().test_old_states_are_upgraded()


def test_the_law_is_skipped_where_nothing_is_upgraded_or_no_example_is_given() -> None:
    assert outcome(Total())["old states are upgraded"][0] is Outcome.SKIPPED
    assert "old states are upgraded" not in {
        law for law, (kind, _) in outcome(Largest()).items() if kind is not Outcome.SKIPPED
    }
