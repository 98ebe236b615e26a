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


def progress(batch: int = 0, second: float | None = None, **metrics_of_queries: Any) -> dict[str, Any]:
    """Return what Spark reports of a micro-batch that took half a second.

    Args:
        batch: The number of the micro-batch.
        second: The second after 8 o'clock at which it began; by default the one with its number.
        metrics_of_queries: The metrics of Muntin's queries in the Spark query, by their names. Ticks are microseconds
            unless a query says `time_axis=0`.
    """
    began = batch if second is None else second
    return {
        "batchId": batch,
        "timestamp": f"2024-05-01T08:00:{began:06.3f}Z",
        "durationMs": {"triggerExecution": 500},
        "observedMetrics": {name: {"time_axis": 1, **metrics} for name, metrics in metrics_of_queries.items()},
    }


@dataclass
class FakeQuery:
    """A streaming query that ends one micro-batch at each look at it, and runs until all have ended.

    Attributes:
        batches: The progress of its micro-batches, as Spark would report it.
        name: Its name in Spark.
        id: Its id in Spark.
        runId: The id of its run.
        error: What it has failed with; None if it has not.
        looks: How often anybody has asked whether it is active: so many of its micro-batches have ended.
    """

    batches: Sequence[Mapping[str, Any]]
    name: str | None = None
    id: str = "id"
    runId: str = "run"
    error: Exception | None = None
    looks: int = 0

    @classmethod
    def ended(cls, batches: Sequence[Mapping[str, Any]], **fields: Any) -> FakeQuery:
        """Return a query all of whose micro-batches have ended, with other fields."""
        return cls(batches, looks=len(batches), **fields)

    @property
    def isActive(self) -> bool:
        self.looks += 1
        return self.looks <= len(self.batches)

    @property
    def recentProgress(self) -> Sequence[Mapping[str, Any]]:
        return self.batches[: self.looks]

    def exception(self) -> Exception | None:
        return self.error
