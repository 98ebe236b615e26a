"""Streams of the scenarios as a recording has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from muntin import EARLIEST
from muntin.testing import Batch
from muntin_engine.exchange.distribute import distribute
from muntin_engine.recording.told_rows import Came
from tests.scenarios.known import Arrival
from tests.scenarios.running import Run
from tests.scenarios.scenario import Scenario


class RunAsItCame(Run):
    """A run that keeps what its map tasks read."""

    def __init__(self, scenario: Scenario) -> None:
        evaluator = next(iter(scenario.query.evaluators))
        super().__init__(scenario.query, scenario.query.plan(evaluator), scenario.mishaps)
        self.came: list[Came] = []
        self._tasks: list[Sequence[pa.RecordBatch]] = []

    def go(self, scenario: Scenario) -> None:
        """Run a whole scenario, without what is illegal."""
        clock = EARLIEST
        for number, batches in enumerate(
            zip_longest(*(stream.batches() for stream in scenario.arriving), fillvalue=Batch(()))
        ):
            self._tasks = []
            if scenario.query.has_clock:
                clock = max(clock, 0) + 7
            self.take(Arrival(batches, clock, scenario.query.signals))
            self.came.append(Came(number, 0, self._tasks))

    def _distributed(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        cut = self._random.randint(0, len(rows))
        batches = [self._query.projected(some) for some in (rows[:cut], rows[cut:]) if some]
        self._tasks.append(batches)
        return distribute(self.task, batches)
