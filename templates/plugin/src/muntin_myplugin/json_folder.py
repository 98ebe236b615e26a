"""A sink: it takes the results of a query, a micro-batch at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from muntin_engine import Sink


class JsonFolder(Sink):
    """Write each micro-batch as a file of JSON lines.

    A program imports it, and passes it to `write(results=JsonFolder("out"))`.
    """

    guarantee = "exactly once"

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        self.query_id = ""

    def open(self, query_id: str) -> None:
        """Prepare for a run of a query, whose id keeps its files apart from those of other queries."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.query_id = query_id

    def write(self, batch: Any, batch_id: int) -> None:
        """Write the rows of a micro-batch; one that comes again after a crash replaces its file."""
        file = self.path / f"{self.query_id}-{batch_id}.jsonl"
        rows = batch.toArrow().to_pylist()
        lines = "".join(f"{json.dumps(row, default=str)}\n" for row in rows)
        # Readers see the whole file or none: a name is given in one step.
        partial = file.with_suffix(".partial")
        partial.write_text(lines, encoding="utf-8")
        partial.replace(file)
