"""The durations of a batch's stages and modules, in one map task or in one bucket."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from muntin_engine.modules.calls import clock
from muntin_engine.plan.metrics import STAGES, module_metric, stage_metric
from muntin_engine.wire.task_payload import TaskPayload

_WIRE: Final = np.dtype("<i8")

Nanoseconds: TypeAlias = npt.NDArray[np.int64]
"""A number for each stage and then for each module."""


class Durations:
    """Durations since this was made or they were last asked for; none if the query is not timed.

    A worker evaluates one task at a time, so what a module's meter says in between is the module's time here.

    Attributes:
        stages: For each stage a context that measures it. One stage must not be inside another.
    """

    def __init__(self, task: TaskPayload) -> None:
        self._task = task
        self._stopwatches = [_Stopwatch() for _ in STAGES]
        self.stages: dict[str, AbstractContextManager[None]] = dict.fromkeys(STAGES, _UNTIMED)
        if task.is_timed:
            self.stages |= zip(STAGES, self._stopwatches, strict=True)
            self._reset()  # the meters may have the time of a task that failed

    def pack(self) -> bytes | None:
        """Return the durations as bytes, to be added to those of a bucket, and measure anew."""
        if not self._task.is_timed:
            return None
        return self._reset().tobytes()

    def metrics(self, packed: Iterable[bytes]) -> dict[str, int]:
        """Return microseconds by the name of their metric, and measure anew.

        Args:
            packed: The durations of other tasks to add, as `pack` returned them.
        """
        if not self._task.is_timed:
            return {}
        durations = self._reset()
        for data in packed:
            durations = durations + np.frombuffer(data, _WIRE)
        names = [stage_metric(stage) for stage in STAGES]
        names += [module_metric(module.metric_label) for module in self._task.plan.modules]
        return dict(zip(names, (durations // 1000).tolist(), strict=True))

    def _reset(self) -> Nanoseconds:
        """Return the durations of all stages and modules, and measure anew."""
        durations = [stopwatch.reset() for stopwatch in self._stopwatches]
        durations += [meter.take() for meter in self._task.meters]
        return np.array(durations, _WIRE)


_UNTIMED: Final = nullcontext()


class _Stopwatch:
    """Adds up the durations of blocks, without those that fail."""

    def __init__(self) -> None:
        self._nanoseconds = 0

    def __enter__(self) -> None:
        self._started = clock()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self._nanoseconds += clock() - self._started

    def reset(self) -> int:
        """Return the nanoseconds so far, and begin at zero."""
        nanoseconds = self._nanoseconds
        self._nanoseconds = 0
        return nanoseconds
