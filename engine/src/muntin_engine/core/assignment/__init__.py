"""Which windows there are: one file per way of cutting the axis."""

from muntin import CountWindows, HoppingWindows, SnapshotWindows, WindowSpecification
from muntin_engine.core.assignment.assigner import Assigner
from muntin_engine.core.assignment.counted import CountAssigner
from muntin_engine.core.assignment.grid import GridAssigner
from muntin_engine.core.assignment.snapshots import SnapshotAssigner

__all__ = ["Assigner", "CountAssigner", "GridAssigner", "SnapshotAssigner", "assigner_of"]


def assigner_of(specification: WindowSpecification) -> Assigner:
    """Return a fresh assigner for one key's events."""
    if isinstance(specification, HoppingWindows):
        return GridAssigner(specification)
    if isinstance(specification, SnapshotWindows):
        return SnapshotAssigner()
    if isinstance(specification, CountWindows):
        return CountAssigner(specification)
    raise AssertionError(f"no assigner for {specification!r}")
