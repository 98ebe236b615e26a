"""Several queries of one stream in one pass."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.scenarios.shared_rows import check_one_pass
from tests.torture.kind import Figures


def one_pass(seed: int, folder: Path) -> Figures:
    """Ask three queries of a random stream, alone and in one pass, with a restart after each micro-batch."""
    del folder
    check_one_pass(seed, batches=Random(seed).choice((2, 5, 20)))
    return {"streams": 1}
