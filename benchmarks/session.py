"""The one Spark session in which all of Spark's systems run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark import SparkContext

from muntin_engine import local_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES: Final = 2
"""By default: the number of tasks that run at a time, and of the state partitions of every query."""

_HERE: Final = str(Path(__file__).parents[1])


def start_session(log: Path, cores: int = CORES) -> None:
    """Start the session.

    Args:
        log: The file for the log of Spark.
        cores: The number of tasks that run at a time, and of the state partitions of every query.
    """
    _let_workers_import_us()
    log.parent.mkdir(parents=True, exist_ok=True)
    local_session("muntin benchmarks", cores=cores, log=log)


def spark_session() -> SparkSession:
    """Return the session that runs."""
    context = SparkContext._active_spark_context
    return local_session("muntin benchmarks", cores=CORES if context is None else context.defaultParallelism)


def end_session() -> None:
    """End the session and its JVM, if one runs."""
    if SparkContext._active_spark_context is not None:
        stop_session(spark_session())


def _let_workers_import_us() -> None:
    """Put this repository on the path of workers: they import stateful processors, which travel by their names."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _HERE not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([_HERE, *filter(None, paths)])
