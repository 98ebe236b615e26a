"""The rows in the checkpoint of a bucket, and their text."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.state.cells import Cells
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE


def held(cells: Cells) -> list[StateRow]:
    """Read the rows in the cells of a bucket, without its query."""
    reader = BucketReader(cells)
    return list(KEEPS_STATE[reader.identity["evaluator"]].state_rows(reader))


def as_text(cells: Cells) -> list[str]:
    """Return the rows in the cells of a bucket as text, in order: `event k [1,2) {'x': 5}`.

    The text of a module's state begins with the name and version of the module.
    """
    return sorted(map(_row_as_text, held(cells)))


def _row_as_text(row: StateRow) -> str:
    """Return a row as `as_text` has it; an open start or end is empty."""
    start = "" if row.start == EARLIEST else row.start
    end = "" if row.end == INFINITY else row.end
    parts = [row.kind, "/".join(map(str, row.key)), f"[{start},{end})"]
    if row.input:
        parts.append(row.input)
    if row.id is not None:
        parts.append(f"#{row.id}")
    if row.partition is not None:
        parts.append(f"in {row.partition}")
    if row.module:
        parts.append(f"{row.module} {row.version}")
        if row.events is not None:
            parts.append(f"{row.events} of")
    return " ".join([*parts, str(row.value)])
