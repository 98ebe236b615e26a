"""The statistics of river itself as modules. `make test-others` runs this where river is installed."""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import Any

import pytest

from muntin.schemas import spell
from muntin.testing import IncrementalAggregateLaws
from muntin_adapters import from_statistic

stats = pytest.importorskip("river.stats", reason="river is not installed")
utils = pytest.importorskip("river.utils", reason="river is not installed")

RANDOM = Random(7)
VALUES = [round(RANDOM.gauss(10, 3), 3) for _ in range(60)]
PAIRS = [(value, round(value * 2 + RANDOM.random(), 3)) for value in VALUES]
WIDTH = 12
"""The number of values in a window that slides."""

REVERTIBLE = ["Mean", "Var", "SEM", "Sum"]
"""The statistics that river's own `Rolling` takes."""

RUNNING = [
    *REVERTIBLE,
    *("Count", "Max", "Min", "PeakToPeak", "Quantile", "IQR", "Kurtosis", "Skew", "EWMean", "EWVar", "MAD", "Mode"),
]
"""Some in Python, some in Rust, some with objects inside; some depend on the order of the values."""

MERGEABLE = ["Mean", "Var"]
"""Statistics two of which can be added."""


def adapted(statistic: Any, **options: Any) -> Any:
    """Return a statistic of floats as a module, with options of the adapter."""
    types = {"input": float, "result": float | None}
    return from_statistic(statistic, name="river.it", version="0.26", **(types | options))


def adds_one_by_one(module: Any, payloads: list[Any]) -> Any:
    """Return the state of a module after payloads that came one by one."""
    state = module.create_state()
    for payload in payloads:
        state = module.add_events(state, [payload])
    return state


class TestMean(IncrementalAggregateLaws):
    module = adapted(stats.Mean)()


class TestVar(IncrementalAggregateLaws):
    module = adapted(stats.Var, without=["remove_events", "deduct"])(ddof=0)
    tolerance = 1e-4


class TestCov(IncrementalAggregateLaws):
    module = adapted(stats.Cov, input=tuple[float, float], without=["remove_events", "combine", "deduct"])(ddof=0)
    tolerance = 1e-4


class TestMax(IncrementalAggregateLaws):
    module = adapted(stats.Max)()


def by_river(statistic: Any, values: list[Any]) -> Any:
    """Return what a statistic of river itself gives of values."""
    for value in values:
        statistic.update(value)
    return statistic.get()


@pytest.mark.parametrize("name", RUNNING)
def test_a_statistic_that_is_stored_after_each_value_gives_what_rivers_own_gives(name: str) -> None:
    module = adapted(getattr(stats, name))()
    state = adds_one_by_one(module, VALUES)
    assert module.compute_result(state) == by_river(getattr(stats, name)(), VALUES)


@pytest.mark.parametrize("name", REVERTIBLE)
def test_one_state_that_slides_gives_what_rivers_rolling_gives(name: str) -> None:
    cls = getattr(stats, name)
    module = adapted(cls)()
    rolling = utils.Rolling(cls, window_size=WIDTH)
    state = module.create_state()
    for place, value in enumerate(VALUES):
        rolling.update(value)
        state = module.add_events(state, [value])
        if place >= WIDTH:
            state = module.remove_events(state, [VALUES[place - WIDTH]])
        assert module.compute_result(state) == pytest.approx(rolling.get(), rel=1e-9)


@pytest.mark.parametrize("name", MERGEABLE)
def test_merged_slices_give_what_one_statistic_of_all_gives(name: str) -> None:
    module = adapted(getattr(stats, name))()
    slices = [module.add_events(module.create_state(), VALUES[start : start + 10]) for start in range(0, 60, 10)]
    whole = reduce(module.combine, slices)
    assert module.compute_result(whole) == pytest.approx(by_river(getattr(stats, name)(), VALUES))


@pytest.mark.parametrize("name", ["Cov", "PearsonCorr"])
def test_a_statistic_of_two_variables_gives_what_rivers_own_gives(name: str) -> None:
    statistic = getattr(stats, name)()
    for pair in PAIRS:
        statistic.update(*pair)
    module = adapted(getattr(stats, name), input=tuple[float, float])()
    assert module.compute_result(adds_one_by_one(module, PAIRS)) == statistic.get()


def test_types_come_from_rivers_annotations() -> None:
    module = from_statistic(stats.Mean, name="river.mean", version="0.26")
    assert (spell(module.input_field()), spell(module.result_field())) == ("float", "float")


def test_a_link_of_two_statistics_is_adapted_too() -> None:
    """It is an object, and not a class."""
    module = adapted(stats.Shift(1) | stats.Mean())()
    state = adds_one_by_one(module, VALUES)
    assert module.compute_result(state) == by_river(stats.Shift(1) | stats.Mean(), VALUES)


def test_the_parameters_of_a_module_are_those_of_the_statistic() -> None:
    module = adapted(stats.Quantile)(q=0.9)
    state = module.add_events(module.create_state(), VALUES)
    assert module.compute_result(state) == by_river(stats.Quantile(q=0.9), VALUES)


def test_a_parameter_that_the_statistic_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="q is not"):
        adapted(stats.Quantile)(q=2)
