"""The offers of the entry point `myplugin`; what is not listed here does not exist for queries."""

from __future__ import annotations

from typing import Any  # only: function

from muntin import (
    Function,  # only: function
    Module,  # only: modules
    hookimpl,
)
from muntin.windows import WindowKind  # only: window

from muntin_myplugin.average_over_time import AverageOverTime  # only: timed-incremental
from muntin_myplugin.covered import Covered  # only: timed-aggregate
from muntin_myplugin.fahrenheit import fahrenheit  # only: function
from muntin_myplugin.frequencies import Frequencies  # only: incremental-operator
from muntin_myplugin.gaps import Gaps  # only: operator
from muntin_myplugin.latest import Latest  # only: timed-incremental-operator
from muntin_myplugin.long_events import LongEvents  # only: timed-operator
from muntin_myplugin.mean import Mean  # only: incremental
from muntin_myplugin.spread import Spread  # only: aggregate
from muntin_myplugin.visits import Visits  # only: window


@hookimpl  # only: modules
def muntin_modules() -> list[type[Module]]:  # only: modules
    """Return the aggregates and operators."""  # only: modules
    return [  # only: modules
        AverageOverTime,  # only: timed-incremental
        Covered,  # only: timed-aggregate
        Frequencies,  # only: incremental-operator
        Gaps,  # only: operator
        Latest,  # only: timed-incremental-operator
        LongEvents,  # only: timed-operator
        Mean,  # only: incremental
        Spread,  # only: aggregate
    ]  # only: modules


@hookimpl  # only: function
def muntin_functions() -> list[Function[..., Any]]:  # only: function
    """Return the functions."""  # only: function
    return [fahrenheit]  # only: function


@hookimpl  # only: window
def muntin_windows() -> list[type[WindowKind]]:  # only: window
    """Return the kinds of windows."""  # only: window
    return [Visits]  # only: window
