"""Kinds whose trials do not end well, for the tests of the harness."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.torture.kind import Figures, Kind, Lane


def is_fine(seed: int, folder: Path) -> Figures:
    """End well."""
    (folder / "mine").write_text("", encoding="utf-8")
    return {"sheep": 2, "wolves": 0}


def differs(seed: int, folder: Path) -> Figures:
    """Find a difference with every third seed."""
    assert seed % 3, f"seed {seed} is a multiple of three"
    return {"sheep": 1}


def dies(seed: int, folder: Path) -> Figures:
    """Take the process along."""
    os._exit(7)


def hangs(seed: int, folder: Path) -> Figures:
    """Never end."""
    while True:
        pass


KINDS: Final = (
    Kind("fine", "Ends well.", Lane.PYTHON, 1, "tests.torture.bad_kinds:is_fine"),
    Kind("differs", "Differs now and then.", Lane.PYTHON, 1, "tests.torture.bad_kinds:differs"),
    Kind("dies", "Takes its process along.", Lane.SPARK, 1, "tests.torture.bad_kinds:dies"),
    Kind("hangs", "Never ends.", Lane.SPARK, 1, "tests.torture.bad_kinds:hangs", seconds=0),
)
