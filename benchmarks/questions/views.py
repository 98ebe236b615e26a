"""The Yahoo streaming benchmark: how often the ads of each campaign are viewed.

Chintapalli et al., Benchmarking Streaming Computation Engines, 2016: events are filtered by their type, joined with a
static table from ads to campaigns, and counted by campaign and ten seconds. A row is an event: its key is the ad, and
its type follows from its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.question import Bools, Question, Rows, answer_table

ADS: Final = 1_000
CAMPAIGNS: Final = 100
"""As many as in the original, with ten ads each."""

TYPES: Final = "CASE WHEN value < 93.5 THEN 'view' WHEN value < 106.5 THEN 'click' ELSE 'purchase' END"
"""The type of a row, in SQL: a third of each."""


@dataclass(frozen=True, slots=True)
class Views(Question):
    """Views per campaign in tumbling windows; the key of an answer is the campaign.

    Attributes:
        size: Length of each.
    """

    size: int

    def __str__(self) -> str:
        return f"views per campaign, {Hopping(self.size, self.size)}"

    def answers(self, rows: Rows) -> pa.Table:
        """Count views by campaign and window."""
        views = rows.where(rows.value < 93.5)
        size = self.size * SECOND
        windows = np.stack([views.at // size * size, views.key % CAMPAIGNS])
        (starts, campaigns), counts = np.unique(windows, axis=1, return_counts=True)
        return answer_table(campaigns, starts, counts.astype(np.float64))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare ends with the watermark."""
        return Hopping(self.size, self.size).are_complete(answers, rows, watermark)
