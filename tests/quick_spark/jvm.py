"""Spark for tests: starting it, and its Python processes, costs more than all they do afterwards.

A JVM that lives for a test gains nothing from compiling its code well, and half of its start goes into reading and
checking the classes of Spark's jars. `python -m tests.quick_spark.jvm` prepares an archive of the classes, which
the JVM maps (class data sharing), and the home of Spark whose jars they are of, as a local session has it. Where
neither is there, everything works as without.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
"""Where the archive of classes is: it belongs to the jars of the environment."""

HOME: Final = Path(sys.prefix, "spark-home")
"""Where Spark's home without sources is: links to what PySpark's own home has."""

_FORK: Final = "-Djdk.lang.Process.launchMechanism=VFORK"  # no helper process for each program that Hadoop calls
_QUICK: Final = (
    f"{_FORK} -XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.2 -XX:ReservedCodeCacheSize=240m"
    " -XX:+UseSerialGC -XX:NewRatio=1 -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
)
_HUGE_PAGES: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")
"""Where Linux says whether it gives large pages to programs that ask for them; a JVM that asks in vain warns."""

_MEMORY: Final = (
    " -XX:+UseTransparentHugePages" if _HUGE_PAGES.is_file() and "[never]" not in _HUGE_PAGES.read_text() else ""
)
_SHARED: Final = f" -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.is_file() else ""

OPTIONS: Final = f"{_QUICK}{_MEMORY}{_SHARED}"
"""Java options that save half of the processor time of a JVM that runs for a minute or two."""


def environment() -> dict[str, str]:
    """Return the environment of a program whose JVMs, and their Python processes, are to start quickly."""
    return {**os.environ, **home(), "JDK_JAVA_OPTIONS": OPTIONS}


def home() -> dict[str, str]:
    """Return the variable that names Spark's home, if there is one for tests and none is set."""
    return {"SPARK_HOME": str(HOME)} if HOME.is_dir() and "SPARK_HOME" not in os.environ else {}


def main() -> None:
    """Make the home, run a stream through Spark in it, and have its JVM write the archive when it ends."""
    import pyspark
    from pyspark import SparkContext

    from muntin import tumbling
    from muntin_engine import events, local_session, module, stop_session
    from muntin_engine.backends.spark.session.spark_home import link_home

    shutil.rmtree(HOME, ignore_errors=True)
    link_home(Path(pyspark.__file__).parent, HOME)
    os.environ.update(home())
    ARCHIVE.unlink(missing_ok=True)
    options = f"{_QUICK} -XX:ArchiveClassesAtExit={ARCHIVE}"
    with TemporaryDirectory() as folder:
        log = Path(folder, "spark.log")
        spark = local_session("archive", log=log, conf={"spark.driver.extraJavaOptions": options})
        rows = spark.createDataFrame([("a", 1), ("b", 5), ("a", 25)], "key string, at long")
        rows.write.parquet(f"{folder}/rows")
        stream = spark.readStream.schema(rows.schema).parquet(f"{folder}/rows")
        query = events(stream, key="key", at="at", watermark=0).window(tumbling(10)).aggregate(n=module("stats.count"))
        query.write(
            results=f"{folder}/results", checkpoint=f"{folder}/checkpoint", available_now=True
        ).awaitTermination()
        spark.read.parquet(f"{folder}/results").collect()
        jvm: Any = SparkContext._gateway.proc  # type: ignore[union-attr]  # it runs
        spark.stop()
        jvm.stdin.close()
        jvm.wait(300)  # writing takes longer than a session waits for its JVM
        stop_session(spark)


if __name__ == "__main__":
    main()
