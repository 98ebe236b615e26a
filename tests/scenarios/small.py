"""Limits of the engine that are made small, so that small states take every way that large ones take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import pytest

import muntin_engine
from muntin_engine.evaluators.general import fast_assigners

SMALL_LIMITS: Final[Mapping[str, object]] = {
    "DENSE": 0,
    "_MOST_PERIODS": 0,
    "_FEW": 0,
    "_NARROW": 0,
    "_EXPANDING": 0.5,
    "FEW_KEYS": 1,
    "LEAST_BLOCK": 1,
    "MOST_CELLS": 4,
    "MOST_WINDOWS": 3,
    "MOST_PIECES": 1,
    "MOST_OBJECTS": 2,
    "RUN": 3,
    "LARGE": 48,
    "ENTRY_BYTES": 64,
    "MOST_OF_LEVEL": 2,
    "MOST_DEAD": 256,
    "MOST_ROWS": 2,
    "MOST_CANDIDATES": 3,
    "MOST_CHUNKS": 1,
}
"""Limits above which the engine splits, merges, hashes, or writes a change; modules may share the name of one."""


@cache
def limits_in_engine() -> tuple[tuple[str, object], ...]:
    """Return the dotted names of the limits in the engine, each with its small value.

    Raises:
        AssertionError: No module has a limit of this name any more.
    """
    rooms = ("muntin_engine.evaluators", "muntin_engine.state", "muntin_engine.tasks", "muntin_engine.wire")
    limits: list[tuple[str, object]] = []
    missing_names = set(SMALL_LIMITS)
    for module_info in walk_packages(muntin_engine.__path__, "muntin_engine."):
        if not module_info.name.startswith(rooms):
            continue
        module = import_module(module_info.name)
        for name, value in SMALL_LIMITS.items():
            if name in vars(module):
                limits.append((f"{module.__name__}.{name}", value))
                missing_names.discard(name)
    assert not missing_names, f"the engine has other limits now, and no {missing_names}"
    return tuple(limits)


@contextmanager
def with_small_limits(seed: int) -> Iterator[None]:
    """Run the engine with small limits for odd seeds, and with those that it has for even ones.

    For every third seed it also has no fast ways for the kinds of windows that it knows: it treats them as those that
    users write.
    """
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:
            for name, value in limits_in_engine():
                patch.setattr(name, value)
        if seed % 3 == 2:
            patch.setattr(fast_assigners, "FAST_ASSIGNERS", {})
        yield
