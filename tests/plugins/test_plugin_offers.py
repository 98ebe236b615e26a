"""What the two plugins offer, that all of it is under its laws, and which parameters it refuses."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from math import inf, nan
from typing import Any

import pytest

import muntin_stats
from muntin import Function, Module
from muntin.catalog import Catalog
from muntin_patterns import (
    ConsecutiveRise,
    FollowedBy,
    FollowedWithout,
    HeadAndShoulders,
    Silence,
    StateMachine,
    ThresholdCrossing,
)
from muntin_stats import (
    ApproximateDistinctCount,
    ApproximateMedian,
    ApproximateQuantile,
    Count,
    Covariance,
    ExponentiallyWeightedAverage,
    Histogram,
    Quantile,
    TopBy,
    TopK,
    Variance,
)
from muntin_stats.other_names import NAMES
from tests.plugins.test_laws import UNDER_LAWS
from tests.tables import says

ENTRIES = tuple(EntryPoint(name, f"muntin_{name}.plugin", "muntin") for name in ("patterns", "stats"))
PLUGINS = {plugin.name: plugin for plugin in Catalog(ENTRIES).plugins()[0]}
MODULES: dict[str, Any] = {}
FUNCTIONS: dict[str, Any] = {}
for installed_plugin in PLUGINS.values():
    MODULES |= installed_plugin.modules
    FUNCTIONS |= installed_plugin.functions


def test_both_plugins_load() -> None:
    loaded, failed = Catalog(ENTRIES).plugins()
    assert [plugin.name for plugin in loaded] == ["patterns", "stats"]
    assert failed == []


@pytest.mark.parametrize("name", ["avg", "mean", "stddev", "percentile"])
def test_a_name_that_spark_or_pandas_has_for_a_statistic_is_missing_and_the_one_here_is_said(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\n  write stats.{NAMES[name]}\(") as failure:
        getattr(muntin_stats, name)
    assert failure.value.name == name


def test_other_names_are_of_statistics_that_there_are_and_hide_none() -> None:
    assert not hasattr(muntin_stats, "__wrapped__"), "tools that look for it get no advice"
    assert set(NAMES.values()) <= set(muntin_stats.__all__)
    assert not NAMES.keys() & set(muntin_stats.__all__)


@pytest.mark.parametrize("cls", MODULES.values(), ids=MODULES.keys())
def test_every_module_is_under_the_laws(cls: type[Module]) -> None:
    if "approximate" in cls.name and not find_spec("datasketches"):
        pytest.skip("datasketches is not installed, or has no wheel for this Python")
    assert cls in {type(case.subject) for case in UNDER_LAWS}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_every_function_is_under_the_laws(function: Function[..., Any]) -> None:
    assert function in [case.subject for case in UNDER_LAWS]


@pytest.mark.parametrize("cls", MODULES.values(), ids=MODULES.keys())
def test_a_module_has_a_version_a_source_of_its_own_and_an_example(cls: type[Module]) -> None:
    assert cls.version == "0.1.0"
    assert cls.__module__.rpartition(".")[2] == cls.name.partition(".")[2]
    documentation = cls.__doc__ or ""
    assert ">>>" in documentation
    assert "Types:" in documentation


ASCENDING = "limits must be numbers, each larger than the one before, such as [0, 10, 20]"
REFUSED: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (Count, {"skip_nulls": "yes"}, "skip_nulls must be True or False, got 'yes'"),
    (Variance, {"ddof": -1}, "ddof must be a whole number from 0 on, got -1"),
    (Variance, {"ddof": 0.5}, "ddof must be a whole number from 0 on, got 0.5"),
    *((Histogram, {"limits": limits}, f"{ASCENDING}, got {limits}") for limits in ([], [2, 1], [0, inf])),
    (Covariance, {"ddof": -1}, "ddof must be a whole number from 0 on, got -1"),
    (ExponentiallyWeightedAverage, {}, "either half_life, such as '10 minutes', or alpha, such as 0.5, got neither"),
    (
        ExponentiallyWeightedAverage,
        {"half_life": 5, "alpha": 0.5},
        "either half_life, such as '10 minutes', or alpha, such as 0.5, got both",
    ),
    (ExponentiallyWeightedAverage, {"half_life": 0}, "half_life must be positive, got 0"),
    (ExponentiallyWeightedAverage, {"alpha": 0}, "alpha must be a number above 0 and up to 1, got 0"),
    (ExponentiallyWeightedAverage, {"alpha": "0.5"}, "alpha must be a number above 0 and up to 1, got '0.5'"),
    (Quantile, {"q": 90}, "q must be a number from 0 to 1, got 90; 90 percent is 0.9"),
    (Quantile, {"q": nan}, "q must be a number from 0 to 1, got nan; 90 percent is 0.9"),
    (Quantile, {"q": "0.5"}, "q must be a number from 0 to 1, got '0.5'; 90 percent is 0.9"),
    (TopK, {"k": 0}, "k must be a whole number from 1 on, got 0"),
    (TopK, {"k": True}, "k must be a whole number from 1 on, got True"),
    (TopK, {"k": 3, "largest": None}, "largest must be True or False, got None"),
    (TopBy, {"k": 1, "ties": "none"}, "ties must be 'exact' or 'all', got 'none'"),
    (Quantile, {"q": True}, "q must be a number from 0 to 1, got True; 90 percent is 0.9"),
    (ApproximateQuantile, {"q": 2}, "q must be a number from 0 to 1, got 2; 90 percent is 0.9"),
    (ApproximateQuantile, {"q": 0.5, "k": 7}, "k must be a whole number from 8 to 65535, got 7"),
    (ApproximateMedian, {"k": 2.5}, "k must be a whole number from 8 to 65535, got 2.5"),
    (ApproximateDistinctCount, {"lg_k": 22}, "lg_k must be a whole number from 7 to 21, got 22"),
    (FollowedBy, {"within": -1}, "within must not be negative, got -1"),
    (FollowedBy, {"within": "soon"}, "'soon' is not a duration: it is not a list of numbers with units"),
    (ThresholdCrossing, {"threshold": nan}, "threshold must be a finite number, got nan"),
    (ThresholdCrossing, {"threshold": "20"}, "threshold must be a finite number, got '20'"),
    (
        ThresholdCrossing,
        {"threshold": 20, "direction": "upward"},
        "direction must be one of 'up', 'down', 'both', got 'upward'",
    ),
    (ConsecutiveRise, {"n": 1}, "n must be a whole number from 2 on, got 1"),
    (HeadAndShoulders, {"tolerance": -0.1}, "tolerance must be a finite number from 0 on, got -0.1"),
    (HeadAndShoulders, {"tolerance": inf}, "tolerance must be a finite number from 0 on, got inf"),
    (Silence, {"after": 0}, "after must be above zero, got 0"),
    (FollowedWithout, {"within": -1}, "within must not be negative, got -1"),
    *(
        (StateMachine, {"start": "a", "transitions": moves, "timeouts": timeouts}, message)
        for moves, timeouts, message in (
            ([("a", "x", "b"), ("a", "x", "c")], [], "…the same state and event…"),
            ([], [("a", 1, "b"), ("a", 2, "b")], "…a state has two time-outs…"),
            ([], [("a", 0, "b")], "the time-out of 'a' must be above zero, got 0"),
            ([("b", "x", "a")], [], "no transition leads to 'b', and machines start in 'a'"),
        )
    ),
]


@pytest.mark.parametrize(("module", "parameters", "message"), REFUSED)
def test_a_parameter_that_is_wrong_is_refused_with_its_value(
    module: Callable[..., object], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  # the whole message follows
        module(**parameters)
    assert says(str(refused.value).partition("\n")[0], message)
