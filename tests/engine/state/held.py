"""What a bucket of a checkpoint holds, in a word for each row."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.state.cells import Cells
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE


def held(cells: Cells) -> list[StateRow]:
    """Return what the cells of a bucket hold, read without its query."""
    stored = BucketReader(cells)
    return list(KEEPS_STATE[stored.identity["evaluator"]].state_rows(stored))


def told(cells: Cells) -> list[str]:
    """Return the same as text, in order: `event k [1,2) {'x': 5}`, and for modules also their name and version."""
    return sorted(map(_spelled, held(cells)))


def _spelled(row: StateRow) -> str:
    ends = ["" if tick in (EARLIEST, INFINITY) else str(tick) for tick in (row.start, row.end)]
    parts = [row.kind, "/".join(map(str, row.key)), f"[{ends[0]},{ends[1]})"]
    parts += [row.input] if row.input else []
    parts += [f"#{row.id}"] if row.id is not None else []
    parts += [f"in {row.partition}"] if row.partition is not None else []
    parts += [f"{row.module} {row.version}"] if row.module else []
    parts += [f"{row.events} of"] if row.module and row.events is not None else []
    return " ".join([*parts, str(row.value)])
