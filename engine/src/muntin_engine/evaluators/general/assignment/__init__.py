"""Assigners, which find the windows that exist: one for all kinds, and faster ones for some."""

from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.assignment.choosing import SPECIAL, assigner_of
from muntin_engine.evaluators.general.assignment.counted import CountAssigner
from muntin_engine.evaluators.general.assignment.general import GeneralAssigner
from muntin_engine.evaluators.general.assignment.grid import GridAssigner
from muntin_engine.evaluators.general.assignment.snapshots import SnapshotAssigner

__all__ = [
    "SPECIAL",
    "Assigner",
    "CountAssigner",
    "GeneralAssigner",
    "GridAssigner",
    "SnapshotAssigner",
    "assigner_of",
]
