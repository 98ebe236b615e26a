"""Make a home for Spark without its archives of Python sources, so that its Python processes start in time.

Spark puts `python/lib/pyspark.zip` of its home on the path of every Python process. Python compiles the sources in an
archive again in each process: 0.9 seconds of a processor, instead of 0.2 for the installed PySpark. For the process on
the driver that asks a streaming query for its state, Spark waits ten seconds, which no setting changes; then the query
fails with "Python worker failed to connect back". At a load of nine on two cores, the import took 5.6 seconds from the
archive and 1.2 from the package.

The query is not started again automatically, although nothing is lost: it runs in Spark's own thread, and whoever holds
its `StreamingQuery` would hold one that has ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from muntin_engine.backends.spark.session.java import cache_directory

_PARTS: Final = ("bin", "conf", "jars", "sbin")
"""The parts of its home that Spark reads, besides `python`."""


def spark_home(package: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return a `SPARK_HOME` for the Spark in an installed PySpark package, made once in this user's cache.

    None if `SPARK_HOME` is set, if the package contains no Spark, or if symbolic links cannot be made.
    """
    if "SPARK_HOME" in environment or not (package / "jars").is_dir():
        return None
    home = cache_directory(environment) / f"spark-{sha256(str(package).encode()).hexdigest()[:16]}"
    return home if link_home(package, home) else None


def link_home(package: Path, home: Path) -> bool:
    """Link the parts of a home that Spark reads; return True if all of them are linked."""
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        for part in _PARTS:
            with suppress(FileExistsError):  # an earlier process has linked it, or one that starts at the same time
                (home / part).symlink_to(package / part, target_is_directory=True)
    return all((home / part).is_symlink() for part in _PARTS)
