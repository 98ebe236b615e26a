"""The hooks that a plugin may implement."""

from __future__ import annotations

import inspect

import pluggy
import pytest

from muntin import hookimpl, hooks
from tests.hostile.muntin_hostile import HOSTILE, plugin


def manager() -> pluggy.PluginManager:
    fresh = pluggy.PluginManager(hooks.PROJECT)
    fresh.add_hookspecs(hooks)
    return fresh


def test_the_hooks_are_those_of_the_specification() -> None:
    specified = [name for name, value in vars(hooks).items() if hasattr(value, f"{hooks.PROJECT}_spec")]
    assert specified == ["muntin_modules", "muntin_functions", "muntin_triggers", "muntin_windows"]
    assert all(inspect.getdoc(getattr(hooks, name)) for name in specified)


def test_a_hook_specification_is_never_called() -> None:
    for hook in (hooks.muntin_modules, hooks.muntin_functions, hooks.muntin_triggers, hooks.muntin_windows):
        with pytest.raises(AssertionError):
            hook()


def test_a_plugin_may_implement_one_hook_alone() -> None:
    class OnlyFunctions:
        @hookimpl
        def muntin_functions(self) -> list[object]:
            return []

    registered = manager()
    registered.register(OnlyFunctions())
    registered.check_pending()
    assert registered.hook.muntin_modules() == []
    assert registered.hook.muntin_functions() == [[]]


def test_the_hostile_plugin_follows_the_specification() -> None:
    registered = manager()
    registered.register(plugin)
    registered.check_pending()
    offered = [module for modules in registered.hook.muntin_modules() for module in modules]
    assert len(offered) > len(HOSTILE)
    assert len({module.name for module in offered}) == len(offered)
