"""Assigners, which find the windows that exist: one for all kinds, and faster ones for some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from muntin import CountWindows, HoppingWindows, SnapshotWindows, WindowKind
from muntin_engine.evaluators.general.assignment.assigner import Assigner, GridAssigner
from muntin_engine.evaluators.general.assignment.general import GeneralAssigner
from muntin_engine.evaluators.general.assignment.marked import CountAssigner, SnapshotAssigner

__all__ = [
    "SPECIAL",
    "Assigner",
    "CountAssigner",
    "GeneralAssigner",
    "GridAssigner",
    "SnapshotAssigner",
    "assigner_of",
]

SPECIAL: Final[dict[type[WindowKind], Callable[[Any], Assigner]]] = {
    HoppingWindows: GridAssigner,
    SnapshotWindows: SnapshotAssigner,
    CountWindows: CountAssigner,
}
"""Assigners that are faster than the general one and make the same windows; tests also run without them."""


def assigner_of(kind: WindowKind) -> Assigner:
    """Return a fresh assigner for one key's events."""
    return SPECIAL.get(type(kind), GeneralAssigner)(kind)
