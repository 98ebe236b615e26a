"""Make cheap what PySpark does around every task in a Python worker.

Before a task, PySpark has Python forget where it found modules; Python then reads the directory of every archive on its
path anew, for each package in it. After a task, PySpark runs the cyclic garbage collector, which walks over everything
that pandas, Arrow and the engine have imported: some 110,000 objects. In a profile of short queries, the two took most
of the time of a worker.

Decoded state would be walked over as well, after each task: with 16 partitions and 400,000 keys that took half of a
micro-batch of one row. So it is frozen too.

The collector stays on, as modules of users may make cycles. The archives stay on the path, as PySpark itself may be
imported from one of them, and imports more of itself later. Without `spark.python.worker.reuse` each task would fork
and warm up a worker instead.
"""

from __future__ import annotations

import gc
import sys
from functools import cache
from pathlib import PurePath
from typing import Final
from zipimport import zipimporter

_ARCHIVES_OF_SPARK: Final = ("pyspark.zip", "py4j-", "spark-core_")
"""The beginnings of the names of archives that Spark puts on the path of its workers. None of them ever changes."""

_TASKS_PER_LOOK: Final = 100
"""The number of tasks after which frozen objects are counted again: counting a million takes a fiftieth of a second."""

_GROWTH: Final = 2
"""Frozen objects are collected once they are this many times as many as after the last collection."""


@cache
def settle() -> None:
    """Have the garbage collector ignore all present objects, and keep Python's caches of Spark's archives.

    Both save time before and after every later task of this worker. Call it when the worker has imported the modules
    that it needs. Later calls in the process, or in one that is forked from it, do nothing. Archives that were shipped
    with a query are still read anew before every task.
    """
    for importer in sys.path_importer_cache.values():
        if isinstance(importer, zipimporter) and PurePath(importer.archive).name.startswith(_ARCHIVES_OF_SPARK):
            importer.invalidate_caches = _keep_caches  # type: ignore[method-assign]
    gc.collect()
    gc.freeze()


class FrozenState:
    """Keeps the decoded state of buckets from the cyclic garbage collector, in one process.

    Frozen objects are freed as usual when nothing refers to them. Only cycles that break off later stay: the engine
    makes none, but modules of users may. So frozen objects are collected too, each time that their number has doubled.

    Cost: a walk over the objects that a task made; once in a while one over all objects, which their growth pays for.
    """

    def __init__(self) -> None:
        self._tasks = 0
        self._objects_after_collection = 0

    def end_task(self) -> None:
        """Freeze the objects that a task of buckets leaves behind; called at its end, before PySpark's collection."""
        self._tasks += 1
        gc.collect()  # cycles that the task left are freed, not frozen; objects of earlier tasks are not walked over
        gc.freeze()

        # Now and then the frozen objects are counted. If they have doubled since the last collection, cycles among them
        # are collected.
        if self._tasks % _TASKS_PER_LOOK:
            return
        if gc.get_freeze_count() <= _GROWTH * self._objects_after_collection:
            return
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._objects_after_collection = gc.get_freeze_count()


FROZEN_STATE: Final = FrozenState()


def _keep_caches() -> None:
    """Do nothing, in the place of `zipimporter.invalidate_caches`."""
