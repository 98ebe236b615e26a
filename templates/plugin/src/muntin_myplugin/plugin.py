"""The offers of the entry point `myplugin`; a module that is not listed here does not exist for queries."""

from __future__ import annotations

from typing import Any

from muntin import Function, Module, hookimpl

from muntin_myplugin.average_over_time import AverageOverTime
from muntin_myplugin.covered import Covered
from muntin_myplugin.fahrenheit import fahrenheit
from muntin_myplugin.frequencies import Frequencies
from muntin_myplugin.gaps import Gaps
from muntin_myplugin.latest import Latest
from muntin_myplugin.long_events import LongEvents
from muntin_myplugin.mean import Mean
from muntin_myplugin.spread import Spread


@hookimpl
def muntin_modules() -> list[type[Module]]:
    """Return the aggregates and operators."""
    return [AverageOverTime, Covered, Frequencies, Gaps, Latest, LongEvents, Mean, Spread]


@hookimpl
def muntin_functions() -> list[Function[..., Any]]:
    """Return the functions."""
    return [fahrenheit]
