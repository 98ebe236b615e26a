"""The contract between Muntin and its plugins, in pluggy's terms.

A plugin is a Python module that an entry point of the group `muntin` names; the entry point's own name is the
first part of the names of all it offers. A complete plugin, `muntin_tides/plugin.py`:

    from muntin import hookimpl
    from muntin_tides.range import TidalRange      # class TidalRange(Aggregate[float, float]): name = "tides.range"

    @hookimpl
    def muntin_modules():
        return [TidalRange]

and in its `pyproject.toml`:

    [project.entry-points.muntin]
    tides = "muntin_tides.plugin"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pluggy

from muntin.modules.function import Function
from muntin.modules.module import Module
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification

PROJECT: Final = "muntin"
"""The pluggy project name and the entry-point group."""

hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook of that name."""


@hookspec
def muntin_modules() -> Iterable[type[Module]]:
    """Return the module classes this plugin offers.

    Each is a complete subclass of one of the base classes, with a `name` and a `version`.
    """
    raise AssertionError("a hook specification is never called")


@hookspec
def muntin_functions() -> Iterable[Function[..., Any]]:
    """Return the functions this plugin offers, made with the decorator `function`."""
    raise AssertionError("a hook specification is never called")


@hookspec
def muntin_triggers() -> Iterable[type[Trigger]]:
    """Return the trigger classes this plugin offers.

    Each is a frozen dataclass that subclasses `Trigger`, with a `name` and a `version`.
    """
    raise AssertionError("a hook specification is never called")


@hookspec
def muntin_windows() -> Iterable[type[WindowSpecification]]:
    """Return the kinds of windows this plugin offers: those that cut the axis, and those that follow rows.

    Each is a frozen dataclass that subclasses `WindowKind` or `RowWindows`, with a `name`, a `version` and a `title`.
    """
    raise AssertionError("a hook specification is never called")
