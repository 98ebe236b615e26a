"""Joins of random streams."""

from __future__ import annotations

from pathlib import Path

from tests.joins.drive import run_join
from tests.joins.test_pairs import run_pairs
from tests.torture.kind import Figures


def joins(seed: int, folder: Path) -> Figures:
    """Join two random streams, in either way: after each micro-batch what was emitted is what the definition says."""
    del folder
    run_join(seed)
    run_pairs(seed)
    return {"streams": 4}
