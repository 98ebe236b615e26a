"""A task as bytes, which the driver packs and a worker opens.

Modules are loaded on the driver and travel as cloudpickled instances inside bytes that a worker opens when the first
rows come. Spark starts a Python process on the driver for every stateful query, before any package shipped with the
session is importable there; that process must hold the bytes and never open them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pyspark import cloudpickle

from muntin.errors import MuntinError
from muntin_engine.errors import ModuleNotOnWorkerError, ShippingError
from muntin_engine.packages.archives import find_fetched_archives
from muntin_engine.packages.pickled_code import pickled_with_local_code
from muntin_engine.wire.task_payload import TaskPayload

MOST_BYTES: Final = 900_000
"""A stateful operator's code must stay below 1 MB; what is larger becomes a broadcast, which it cannot read."""

_MOST_OPEN: Final = 32
"""The number of tasks that a worker keeps open."""


def pack_task(task: TaskPayload) -> bytes:
    """Return a task as bytes. Code of no installed package is pickled whole if it can be, and else by reference.

    Raises:
        ShippingError: A module cannot be pickled, or the task is too large for a stateful operator.
    """
    return pack_tasks([task])[0]


def pack_tasks(tasks: Sequence[TaskPayload]) -> list[bytes]:
    """Return the tasks of one pass as bytes, as `pack_task` does; one stateful operator holds all of them.

    Raises:
        ShippingError: A module cannot be pickled, or the tasks are too large together.
    """
    packed = list(map(_pickled, tasks))
    size = sum(map(len, packed))
    if size > MOST_BYTES:
        modules = [module for task in tasks for module in task.modules]
        raise ShippingError(f"the query's modules take {size:,} bytes, more than {MOST_BYTES:,}", modules)
    return packed


def _pickled(task: TaskPayload) -> bytes:
    try:
        # The labels come first, in the same bytes: a worker compares them with the versions that it has.
        return pickled_with_local_code(cloudpickle, (_labels(task), task))
    except Exception as error:  # a module's own pickling may raise anything
        reason = f"the query's modules cannot travel to the workers: {error}"
        raise ShippingError(reason, task.modules) from error


@lru_cache(_MOST_OPEN)
def open_task(data: bytes) -> TaskPayload:
    """Return the task in some bytes; a worker opens it once and keeps the last few.

    Raises:
        ModuleNotOnWorkerError: A module's package is not installed where the worker runs, or in another version.
    """
    try:
        return _opened(data)
    except ModuleNotOnWorkerError:
        # Archives that were sent after this worker had started are in its folder, and not yet on its path.
        if not find_fetched_archives():
            raise
        return _opened(data)


def _opened(data: bytes) -> TaskPayload:
    """Unpickle a task, and check that its modules have the versions here that they have on the driver.

    Raises:
        ModuleNotOnWorkerError: A module cannot be imported here, or has another version.
    """
    try:
        labels, task = cloudpickle.loads(data)
    except MuntinError:
        raise
    except (ImportError, AttributeError) as error:
        raise ModuleNotOnWorkerError(str(error)) from error
    assert isinstance(task, TaskPayload)
    for driver_label, worker_label in zip(labels, _labels(task), strict=True):
        if driver_label != worker_label:  # the worker started, or joined, after the preflight check
            raise ModuleNotOnWorkerError(f"it has {worker_label}, and the query runs {driver_label}")
    return task


def _labels(task: TaskPayload) -> list[str]:
    """Return the names and versions of the modules, as this process has them."""
    return [f"{module.name} {module.version}" for module in task.modules]
