"""Progress as Spark gives it, and queries that make it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("progress.jsonl")
"""What a query said of itself, a line per micro-batch; written by `record.py`."""


def recorded() -> list[dict[str, Any]]:
    """Return the progress of a query of four batches, as `recentProgress` gives it."""
    return [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]


def progress(batch: int = 0, second: float = 0, **queries: Any) -> dict[str, Any]:
    """Return the progress by a batch that took half a second, with the metrics of some queries."""
    return {
        "batchId": batch,
        "timestamp": f"2024-05-01T08:00:{second + batch:06.3f}Z",
        "durationMs": {"triggerExecution": 500},
        "observedMetrics": {name: {"time_axis": 1, **metrics} for name, metrics in queries.items()},
    }


@dataclass
class FakeQuery:
    """A streaming query that runs until it was looked at as often as it has batches."""

    batches: Sequence[Mapping[str, Any]]
    name: str | None = None
    id: str = "id"
    runId: str = "run"
    error: Exception | None = None
    looks: int = 0

    @property
    def isActive(self) -> bool:
        self.looks += 1
        return self.looks <= len(self.batches)

    @property
    def recentProgress(self) -> Sequence[Mapping[str, Any]]:
        return self.batches[: self.looks]

    def exception(self) -> Exception | None:
        return self.error
