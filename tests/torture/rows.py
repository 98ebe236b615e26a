"""Random row windows against their definitions."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin.rows import RowsBetween
from tests.scenarios import drawing
from tests.sdk.rows.meaning import computed
from tests.sdk.rows.meaning_between import computed_between
from tests.sdk.rows.random_rows import is_defined, random_rows
from tests.sdk.rows.tracing import Trace
from tests.torture.kind import Figures


def row_windows(seed: int, folder: Path) -> Figures:
    """Compare automata, restarted now and then, with definitions over the whole history that share no code."""
    del folder
    random = Random(seed)
    while not is_defined(windows := drawing.row_windows(random)):
        pass
    rows = random_rows(random, windows, random.choice((5, 12, 25)))
    tick = (rows[-1].time if rows else 0) + random.randrange(12)
    trace = Trace(windows)
    for row in rows:
        trace.rows(row)
        if random.random() < 0.2:
            trace.restart()
    output = trace.advance(tick).computed
    is_between = isinstance(windows, RowsBetween)
    expected = computed_between(windows, rows, tick) if is_between else computed(windows, rows, tick)
    assert sorted(output, key=repr) == sorted(expected, key=repr), f"{windows} of {rows} up to {tick}"
    return {"streams": 1, "changes": len(rows), "windows": len(output)}
