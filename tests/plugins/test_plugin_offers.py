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
