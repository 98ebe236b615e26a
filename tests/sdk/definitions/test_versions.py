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
from muntin.testing import IncrementalAggregateLaws, LawError, OldState, Outcome, Verdict, try_laws
from muntin_adapters import from_aggregator, from_function
from muntin_adapters.combinators import all_of, catching, filtering, grouping_by, preset, skipping_nulls, with_default
from muntin_adapters.combinators.grouping_by import Grouped

SPELLINGS = "1.0 1.0.0 v1.2 1.0.dev1 1.0a1 1.0a1.dev2 1.0a1.post1 1.0b2 1.0rc1 1.0.post1.dev3 1.0-1 0 1.9"


def test_versions_are_ordered_as_those_of_packages() -> None:
    for first_text, second_text in product(SPELLINGS.split(), repeat=2):
        first = order_of(first_text)
        second = order_of(second_text)
        assert first is not None
        assert second is not None
        assert (first < second) == (Version(first_text) < Version(second_text)), f"{first_text} and {second_text}"
        assert (first == second) == (Version(first_text) == Version(second_text)), f"{first_text} and {second_text}"


def test_the_part_of_a_version_after_a_plus_does_not_count() -> None:
    assert order_of("1.0+first") == order_of("1.0") == order_of("1.0+second")


@pytest.mark.parametrize("text", ["", "code 7f3a", "main", "1.0 by group", "2026-11-21 19:00", "1.0+", "9" * 5000])
def test_a_version_that_is_not_spelled_as_those_of_packages_has_no_order(text: str) -> None:
    assert order_of(text) is None


class Largest(Aggregate[float, float]):
    """An aggregate without a state, of version 1.4."""

    name, version = "test.largest", "1.4"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return max(payloads)


class Since(Largest):
    """The same aggregate, which says that its results mean the same since 1.2."""

    continues_since = "1.2"


class Total(IncrementalAggregate[float, dict[str, float], float]):
    """A sum of version 2.0, whose state is a dict; in version 1.0 it was a number."""

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


class Forgetting(Total):
    """A sum that forgets the older state instead of upgrading it."""

    def upgrade_state(self, state: Any, version: str) -> dict[str, float]:
        return {"total": 0.0}


@pytest.mark.parametrize(
    ("module", "fitting_versions", "other_versions"),
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
def test_a_module_continues_from_its_version_and_from_those_before_it_that_it_says_it_does(
    module: Module, fitting_versions: list[str], other_versions: list[str]
) -> None:
    """By `continues_since` or `upgrade_state`; a combinator asks the module in it, and compares its own part."""
    for version in fitting_versions:
        assert module.continues_from(version), version
    for version in other_versions:
        assert not module.continues_from(version), version


@pytest.mark.parametrize(
    ("wrapped", "version", "old_state", "state"),
    [
        (Total(), "1.0", 5.0, {"total": 5.0}),
        (skipping_nulls(Total)(), "1.0 without nulls", (2, 5.0), (2, {"total": 5.0})),
        (preset(Total, scale=2.0)(), "1.0 with scale=2.0", 5.0, {"total": 5.0}),
        (catching(Total)(), "1.0 or its error", (5.0, None), ({"total": 5.0}, None)),
        (catching(Total)(), "1.0 or its error", (None, "failed"), (None, "failed")),
    ],
    ids=["alone", "skipping nulls", "preset", "catching nothing", "catching an error"],
)
def test_combinators_upgrade_the_state_of_the_module_in_them(
    wrapped: Any, version: str, old_state: Any, state: Any
) -> None:
    assert wrapped.upgrade_state(old_state, version) == state


def test_groups_upgrade_the_state_of_each_group() -> None:
    grouped = grouping_by(Total)()
    state = grouped.upgrade_state({"a": (2, 5.0)}, "1.0 by group")
    assert grouped.compute_result(grouped.add_events(state, [Grouped("a", 1.0)])) == {"a": 6.0}


def test_a_filter_upgrades_the_state_of_the_module_in_it() -> None:
    filtered = filtering(Total, lambda payload: payload > 0)()
    older_version = filtered.version.replace("2.0", "1.0", 1)
    assert filtered.compute_result(filtered.upgrade_state((1, 5.0), older_version)) == 5.0


def test_all_of_upgrades_the_states_of_modules_with_another_version() -> None:
    module = all_of(sum=Total, again=preset(Total, scale=2.0))()
    version = "sum: test.total 1.0, again: test.total 2.0 with scale=2.0"
    assert module.continues_from(version)
    state = module.upgrade_state([5.0, {"total": 5.0}], version)
    assert module.compute_result(state) == {"sum": 5.0, "again": 10.0}


@pytest.mark.parametrize(
    "wrapped", [skipping_nulls(Largest), with_default(Largest, 0.0), grouping_by(Largest), all_of(top=Largest)]
)
def test_modules_without_upgrade_state_get_none_by_being_wrapped(wrapped: type[Module]) -> None:
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
def test_columnar_forms_of_combinators_upgrade_the_state_of_the_module_in_them(
    combined: Any, version: str, prefix: str
) -> None:
    form = combined().columnar_form(describe(float, "x"))
    old_state = {"payloads": 2, "kept": {f"{prefix}sum": 5.0, f"{prefix}count": 2}}
    assert form.upgrade_state(old_state, version)["kept"] == {f"{prefix}total": 5.0, f"{prefix}count": 2}
    assert Mean.upgrade_state is vars(Mean)["upgrade_state"], "the class in it is as it was"


class Longest:
    """An aggregator of foreign code, which knows no versions of its state."""

    def zero(self) -> int:
        return 0

    def reduce(self, state: int, text: str) -> int:
        return max(state, len(text))

    def merge(self, state: int, other: int) -> int:
        return max(state, other)

    def finish(self, state: int) -> int:
        return state


def test_an_adapter_is_given_how_a_foreign_aggregator_upgrades_older_states() -> None:
    adapted = from_aggregator(Longest, name="test.longest", version="2.0", upgrade_state=lambda state, _: len(state))()
    assert adapted.continues_from("1.0")
    assert adapted.compute_result(adapted.upgrade_state("abc", "1.0")) == 3


def test_an_adapter_is_given_since_when_a_function_means_the_same() -> None:
    largest = from_function(max, name="test.max", version="2.0", input=float, result=float, continues_since="1.0")()
    assert largest.continues_from("1.5")
    assert not largest.continues_from("0.9")


class TestTotal(IncrementalAggregateLaws):
    module = Total()
    old_states = (
        OldState("1.0", members=[2.0, 3.0], state=5.0),
        OldState("1.0", members=[], state=0.0),
    )


def verdicts(module: Any, **laws_attributes: Any) -> dict[str, Verdict]:
    """Try all laws of a module; return the verdicts by law."""
    return {verdict.law: verdict for verdict in try_laws(module, **laws_attributes)}


def test_an_upgrade_that_forgets_the_older_state_breaks_a_law() -> None:
    old_states = [OldState("1.0", members=[2.0], state=2.0)]
    verdict = verdicts(Forgetting(), old_states=old_states)["old states are upgraded"]
    assert verdict.outcome is Outcome.BROKEN
    assert "a state of 1.0, upgraded: 0.0\na new state: 2.0" in verdict.reason.replace("  ", "")


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (OldState("3.0", members=[2.0], state=2.0), "it does not continue from its version 3.0"),
        (OldState("1.0", members=[2.0], state=object()), "no checkpoint holds such a state of an older version"),
        (OldState("0.9", members=[2.0], state=2.0), "upgrade_state raised ValueError: 0.9 is unknown"),
    ],
    ids=["newer", "no plain data", "unknown"],
)
def test_the_report_on_an_old_state_that_cannot_be_upgraded_says_why(old: OldState, message: str) -> None:
    laws = type("TestOld", (IncrementalAggregateLaws,), {"module": Total(), "old_states": [old]})()
    with pytest.raises(LawError, match=message):
        laws.test_old_states_are_upgraded()


def test_the_law_of_old_states_is_skipped_without_an_example() -> None:
    assert verdicts(Total())["old states are upgraded"].outcome is Outcome.SKIPPED


def test_the_law_of_old_states_is_not_tried_on_a_module_without_a_state() -> None:
    laws_tried = {law for law, verdict in verdicts(Largest()).items() if verdict.outcome is not Outcome.SKIPPED}
    assert "old states are upgraded" not in laws_tried
