"""Which windows there are: one assigner for all kinds, and faster ones for some."""

from muntin_engine.core.assignment.assigner import Assigner
from muntin_engine.core.assignment.choosing import SPECIAL, assigner_of
from muntin_engine.core.assignment.counted import CountAssigner
from muntin_engine.core.assignment.general import GeneralAssigner
from muntin_engine.core.assignment.grid import GridAssigner
from muntin_engine.core.assignment.snapshots import SnapshotAssigner

__all__ = [
    "SPECIAL",
    "Assigner",
    "CountAssigner",
    "GeneralAssigner",
    "GridAssigner",
    "SnapshotAssigner",
    "assigner_of",
]
