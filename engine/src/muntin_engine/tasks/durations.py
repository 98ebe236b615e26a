"""The durations of a batch's stages and modules, in one map task or in one bucket: they are measured beside the way.

A method of a task is a stage by its decorator:

    @stage("evaluate")
    def _evaluate(self, batch): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from muntin_engine.modules.meter import clock
from muntin_engine.plan.metrics import STAGES, module_metric, stage_metric
from muntin_engine.wire.task_payload import TaskPayload

_WIRE: Final = np.dtype("<i8")
"""The type in which durations travel, on any machine."""

_STAGE_METRICS: Final = tuple(map(stage_metric, STAGES))
"""The metrics of the stages, in order."""

Method = TypeVar("Method", bound=Callable[..., Any])

Nanoseconds: TypeAlias = npt.NDArray[np.int64]
"""A number for each stage and then for each module."""


class Durations:
    """The durations of stages and modules since they were last reported; nothing is measured if the query is not timed.

    A worker evaluates one task at a time, so the time that a module's meter measures in between is of this task.
    """

    def __init__(self, task: TaskPayload) -> None:
        """Measure from now on."""
        self._task = task
        self._by_stage = dict.fromkeys(STAGES, 0)
        if task.is_timed:
            self._read_and_reset()  # the meters may have the time of a task that failed

    @property
    def is_on(self) -> bool:
        """True if the query is timed."""
        return self._task.is_timed

    def add(self, stage: str, nanoseconds: int) -> None:
        """Add the duration of a call to that of its stage, one of `STAGES`."""
        self._by_stage[stage] += nanoseconds

    def pack(self) -> bytes | None:
        """Return the durations as bytes, and measure anew; None if the query is not timed.

        A map task sends the bytes to a bucket, which adds them to its own durations.
        """
        if not self._task.is_timed:
            return None
        return self._read_and_reset().tobytes()

    def metrics(self, packed: Iterable[bytes]) -> dict[str, int]:
        """Return the durations in microseconds by the names of their metrics, and measure anew.

        Args:
            packed: The durations of other tasks to add, as `pack` returned them.
        """
        if not self._task.is_timed:
            return {}
        durations = self._read_and_reset()
        for data in packed:
            durations = durations + np.frombuffer(data, _WIRE)  # all are in one order: stages, then modules
        names = list(_STAGE_METRICS)
        names += [module_metric(module.metric_label) for module in self._task.plan.modules]
        microseconds = durations // 1000  # they were measured in nanoseconds
        return dict(zip(names, microseconds.tolist(), strict=True))

    def _read_and_reset(self) -> Nanoseconds:
        """Return the nanoseconds of all stages and then of all modules, and set them to zero."""
        durations = list(self._by_stage.values())
        durations += [meter.take() for meter in self._task.meters]
        self._by_stage = dict.fromkeys(STAGES, 0)
        return np.array(durations, _WIRE)


class HasDurations(Protocol):
    """A task that is measured."""

    @property
    def durations(self) -> Durations:
        """The durations of its stages."""
        ...


def stage(name: str) -> Callable[[Method], Method]:
    """Measure a method of a task as a stage; a call that fails does not count.

    One stage must not be inside another, and a method must not be a generator.

    Args:
        name: The name of the stage, one of `STAGES`.
    """

    def measured(method: Method) -> Method:
        """Return the method with a measurement around it."""

        @wraps(method)
        def measure(task: HasDurations, *arguments: Any) -> Any:
            """Call the method, and add its duration to those of its task."""
            if not task.durations.is_on:
                return method(task, *arguments)
            started = clock()
            result = method(task, *arguments)
            task.durations.add(name, clock() - started)
            return result

        return cast("Method", measure)

    return measured
