"""Modules that read several inputs of a union."""

from __future__ import annotations

from pathlib import Path

from tests.several.drive import check
from tests.torture.kind import Figures


def several(seed: int, folder: Path) -> Figures:
    """Run a module with two inputs over random streams, with revisions and restarts."""
    del folder
    check(seed)
    return {"streams": 4}
