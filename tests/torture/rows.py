"""Random row windows: against their definitions, and on the engine with a restart and a crash at each step."""

from __future__ import annotations

from pathlib import Path
from random import Random

from muntin import Module
from muntin.rows import (
    PartitionedRows,
    Row,
    RowsBetween,
)
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from tests.rows.following import Told
from tests.rows.meaning import computed
from tests.rows.meaning_between import computed_between
from tests.rows.modules import Changes, Listed, Sliding
from tests.rows.random_rows import is_defined, random_rows
from tests.rows.tracing import Trace
from tests.scenarios import drawing
from tests.torture.kind import Figures


def row_windows(seed: int, folder: Path) -> Figures:
    """Take random rows through random windows; what is computed is what the definition says, whatever happens."""
    random = Random(seed)
    windows = drawing.row_windows(random)
    rows = random_rows(random, windows, random.choice((5, 12, 25)))
    if is_defined(windows):
        _as_defined(random, windows, rows)
    module: Module = random.choice((Listed, Sliding, Changes, Told))()
    script = _script(random, windows, rows)
    query = WindowedQuery(windows, [Computation(module, lambda payload: payload["number"])])
    survived = crash_everywhere(script, query)
    return {"streams": 1, "changes": len(rows), "steps": survived.steps}


def _as_defined(random: Random, windows: PartitionedRows, rows: list[Row]) -> None:
    """Compare the automata, restarted now and then, with definitions over the whole history that share no code."""
    tick = (rows[-1].time if rows else 0) + random.randrange(12)
    trace = Trace(windows)
    for row in rows:
        trace.rows(row)
        if random.random() < 0.2:
            trace.restart()
    found = trace.advance(tick).computed
    wanted = (
        computed_between(windows, rows, tick) if isinstance(windows, RowsBetween) else computed(windows, rows, tick)
    )
    assert sorted(found, key=repr) == sorted(wanted, key=repr), f"{windows} of {rows} up to {tick}"


def _script(random: Random, windows: PartitionedRows, rows: list[Row]) -> Script:
    """Return rows of one key or two as a stream, with punctuation between them and some that are retracted."""
    keys, script = random.choice(((None,), ("a", "b"))), Script()
    for row in rows:
        payload = {"number": row.number, **dict(zip(windows.reads, row.values, strict=True))}
        key = random.choice(keys)
        script = script.point(row.number, row.time, payload, key=key)
        if random.random() < 0.1:
            script = script.retract(row.number, key=key, start=row.time)
        if random.random() < 0.3:
            script = script.punctuate(row.time)
    return script.close()
