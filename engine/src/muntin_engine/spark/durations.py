"""How long the stages of a batch and its modules took, in one task of the map side or in one bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Final

import numpy as np

from muntin_engine.core.meter import Meter
from muntin_engine.measures import STAGES, module_measure, stage_measure
from muntin_engine.spark.job import Job

clock: Final = perf_counter_ns
"""What times are measured by."""

_WIRE: Final = np.dtype("<i8")


class Durations:
    """Durations from when this is made until they are asked for; none if the query is not timed.

    A worker evaluates one task at a time, so what a module's meter says in between is the module's time here.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._stages = {stage: Meter(clock if job.is_timed else None) for stage in STAGES}
        for binding in job.query.bindings:
            binding.meter.take()

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Measure a stage. One stage must not be inside another."""
        meter = self._stages[stage]
        started = meter.now()
        yield
        meter.since(started)

    def pack(self) -> bytes | None:
        """Return the times as bytes, to be added to those of a bucket."""
        return np.array(self._take(), _WIRE).tobytes() if self._job.is_timed else None

    def measures(self, packed: Iterable[bytes]) -> dict[str, int]:
        """Return microseconds by the name of their measure.

        Args:
            packed: Other times to add, as `pack` gave them.
        """
        if not self._job.is_timed:
            return {}
        names = [*map(stage_measure, STAGES), *map(module_measure, self._job.module_labels)]
        total = np.array(self._take(), _WIRE)
        for data in packed:
            total = total + np.frombuffer(data, _WIRE)
        return dict(zip(names, (total // 1000).tolist(), strict=True))

    def _take(self) -> list[int]:
        meters = [*self._stages.values(), *(binding.meter for binding in self._job.query.bindings)]
        return [meter.take() for meter in meters]
