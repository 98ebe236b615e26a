"""Make cheap what PySpark does around every task in a Python worker.

Before a task, PySpark has Python forget where it found modules; Python then reads the directory of every archive on its
path anew, for each package in it. After a task, PySpark runs the cyclic garbage collector, which walks over everything
that pandas, Arrow and the engine have imported: some 110,000 objects. In a profile of short queries, the two took most
of the time of a worker.

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


def _keep_caches() -> None:
    """Do nothing, in the place of `zipimporter.invalidate_caches`."""
