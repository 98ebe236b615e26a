"""The durations of a batch's stages and modules, in one task of the map side or in one bucket."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from muntin_engine.core.calls import clock
from muntin_engine.metrics import STAGES, module_metric, stage_metric
from muntin_engine.wire.task_payload import TaskPayload

_WIRE: Final = np.dtype("<i8")

Numbers: TypeAlias = npt.NDArray[np.int64]
"""Nanoseconds, one number for each stage and then for each module."""


class Durations:
    """Durations from when this is made until they are asked for; none if the query is not timed.

    A worker evaluates one task at a time, so what a module's meter says in between is the module's time here.

    Attributes:
        stages: For each stage a context that measures it. One stage must not be inside another.
    """

    def __init__(self, task: TaskPayload) -> None:
        self._task = task
        self._timed = [_Timed() for _ in STAGES]
        self.stages: dict[str, AbstractContextManager[None]] = dict.fromkeys(STAGES, _UNTIMED)
        if task.is_timed:
            self.stages |= zip(STAGES, self._timed, strict=True)
            self._take()

    def pack(self) -> bytes | None:
        """Return the times as bytes, to be added to those of a bucket."""
        return self._take().tobytes() if self._task.is_timed else None

    def metrics(self, packed: Iterable[bytes]) -> dict[str, int]:
        """Return microseconds by the name of their metric.

        Args:
            packed: Other times to add, as `pack` gave them.
        """
        if not self._task.is_timed:
            return {}
        spent = self._take()
        for data in packed:
            spent = spent + np.frombuffer(data, _WIRE)
        names = [*_STAGES, *map(module_metric, self._task.plan.module_labels)]
        return dict(zip(names, (spent // 1000).tolist(), strict=True))

    def _take(self) -> Numbers:
        """Return the nanoseconds of all stages and modules, and start anew."""
        spent = [stage.spent for stage in self._timed] + [meter.take() for meter in self._task.meters]
        for stage in self._timed:
            stage.spent = 0
        return np.array(spent, _WIRE)


_UNTIMED: Final = nullcontext()
_STAGES: Final = tuple(map(stage_metric, STAGES))
"""The names of the metrics of stages."""


class _Timed:
    """Adds up the nanoseconds of blocks, but of those that fail.

    Attributes:
        spent: They, since it was last set to nothing.
    """

    def __init__(self) -> None:
        self.spent = 0

    def __enter__(self) -> None:
        self._started = clock()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.spent += clock() - self._started
