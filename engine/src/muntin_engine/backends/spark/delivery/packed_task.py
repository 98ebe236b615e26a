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
"""The number of bytes that tasks may take. Spark sends an operator of 1 MB or more as a broadcast, which a stateful
operator cannot read."""

_MOST_OPEN: Final = 32
"""The number of tasks that a worker keeps open."""


def pack_task(task: TaskPayload) -> bytes:
    """Return a task as bytes.

    Code that belongs to no installed package is pickled by value. If the task cannot be pickled so, all its code is
    pickled by reference; if that fails too, it is an error.

    Raises:
        ShippingError: A module cannot be pickled, or the task is too large for a stateful operator.
    """
    return pack_tasks([task])[0]


def pack_tasks(tasks: Sequence[TaskPayload]) -> list[bytes]:
    """Return the tasks of one pass as bytes, each as `pack_task` does; one stateful operator holds all of them.

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
    """Return a task as bytes, with the names and versions of its modules on the driver before it.

    Raises:
        ShippingError: A module cannot be pickled.
    """
    try:
        return pickled_with_local_code(cloudpickle, (_labels(task), task))
    except Exception as error:  # a module's own pickling may raise anything
        reason = f"the query's modules cannot travel to the workers: {error}"
        raise ShippingError(reason, task.modules) from error


@lru_cache(_MOST_OPEN)
def open_task(data: bytes) -> TaskPayload:
    """Return the task that was packed as some bytes; a worker keeps the last few tasks open.

    Raises:
        ModuleNotOnWorkerError: A module's package is not installed where the worker runs, or in another version.
    """
    try:
        return _opened(data)
    except ModuleNotOnWorkerError:
        # On Spark Connect the path of a worker may name a folder above the one in which a shipped archive lies. If that
        # could be corrected, the task is opened once more.
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
        raise  # as it is: it says what is wrong, and may be an ImportError as well
    except (ImportError, AttributeError) as error:
        raise ModuleNotOnWorkerError(str(error)) from error
    assert isinstance(task, TaskPayload)
    for driver_label, worker_label in zip(labels, _labels(task), strict=True):
        if driver_label != worker_label:  # a worker that started after the preflight check was not checked
            raise ModuleNotOnWorkerError(f"it has {worker_label}, and the query runs {driver_label}")
    return task


def _labels(task: TaskPayload) -> list[str]:
    """Return the names and versions of the modules, as this process has them."""
    return [f"{module.name} {module.version}" for module in task.modules]
