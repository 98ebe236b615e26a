"""What the two plugins offer, and that all of it is under its laws."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from importlib.util import find_spec
from typing import Any

import pytest

from muntin import Function, Module
from muntin.catalog import Catalog
from tests.plugins.test_laws import UNDER_LAWS

ENTRIES = tuple(EntryPoint(name, f"muntin_{name}.plugin", "muntin") for name in ("patterns", "stats"))
PLUGINS = {plugin.name: plugin for plugin in Catalog(ENTRIES).plugins()[0]}
MODULES = {name: cls for plugin in PLUGINS.values() for name, cls in plugin.modules.items()}
FUNCTIONS = {name: function for plugin in PLUGINS.values() for name, function in plugin.functions.items()}


def test_both_plugins_load() -> None:
    loaded, failed = Catalog(ENTRIES).plugins()
    assert ([plugin.name for plugin in loaded], failed) == (["patterns", "stats"], [])


def test_the_modules_are_those_promised() -> None:
    stats = "approximate_distinct_count approximate_median approximate_quantile average average_difference"
    stats += (
        " collect_list correlation count covariance distinct_count exponentially_weighted_average first histogram last"
    )
    stats += " linear_trend matched_share max max_by median min min_by mode quantile standard_deviation sum"
    stats += " time_weighted_average top_by top_k variance"
    patterns = (
        "consecutive_rise followed_by followed_without head_and_shoulders silence state_machine threshold_crossing"
    )
    assert sorted(PLUGINS["stats"].modules) == [f"stats.{name}" for name in stats.split()]
    assert sorted(PLUGINS["patterns"].modules) == [f"patterns.{name}" for name in patterns.split()]
    assert sorted(FUNCTIONS) == ["stats.clamp", "stats.log1p"]


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
