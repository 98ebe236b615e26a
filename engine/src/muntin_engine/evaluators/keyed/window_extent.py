"""The extent of a window: the window that modules see and results report, where it differs from the engine's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from muntin import Window
from muntin.windows import WindowKind, WindowSpecification
from muntin_engine.plan.evaluator_query import EvaluatorQuery

Extent: TypeAlias = Callable[[Window], Window]
"""Maps a window that the engine works with to its extent."""


def extent_of(query: EvaluatorQuery) -> Extent | None:
    """Return the function from windows to their extents; None if each window is its own extent.

    The last extents are cached, so that all calls for a window get the same object.
    """
    kind: WindowSpecification = query.window
    if not isinstance(kind, WindowKind):
        return None  # windows that follow rows
    if type(kind).extent_start is WindowKind.extent_start:
        return None  # the kind does not define extents of its own
    return lru_cache(maxsize=16)(kind.extent)
