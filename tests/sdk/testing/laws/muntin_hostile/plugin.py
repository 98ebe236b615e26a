"""The hostile plugin, as an entry point named `hostile` would load it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muntin import Function, Module, hookimpl

from .cast import HONEST, HOSTILE
from .faults import HasNoVersion
from .functions import HOSTILE_FUNCTIONS, honest_function


@hookimpl
def muntin_modules() -> Iterable[type[Module]]:
    """Offer all but those without a version, which no catalog takes."""
    hostile = [module for modules in HOSTILE.values() for module in modules]
    return [*HONEST, *(module for module in hostile if not issubclass(module, HasNoVersion))]


@hookimpl
def muntin_functions() -> Iterable[Function[..., Any]]:
    """Offer the functions."""
    return [honest_function, *HOSTILE_FUNCTIONS.values()]
