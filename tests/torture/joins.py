"""Joins of random streams."""

from __future__ import annotations

from pathlib import Path

from tests.joins.drive import run_join
from tests.torture.kind import Figures


def joins(seed: int, folder: Path) -> Figures:
    """Join two random streams: after each micro-batch what was emitted is what the definition of the join says."""
    del folder
    run_join(seed)
    return {"streams": 2}
