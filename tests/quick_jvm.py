"""JVMs that live for a test: starting Spark costs them more than all they do afterwards.

Compiling its code well costs more than it gives back, and half of a start goes into reading and checking the classes of
its jars. `python -m tests.quick_jvm` writes an archive of those classes, which the JVM maps instead (class data
sharing); where there is none, or one of other jars, everything works as without.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ARCHIVE: Final = Path(sys.prefix, "spark.jsa")
"""Where the archive is: it belongs to the jars of the environment."""

_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"

OPTIONS: Final = f"{_QUICK} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.is_file() else _QUICK
"""Java options that save half of the processor time of a JVM that runs for a minute or two."""


def environment() -> dict[str, str]:
    """Return the environment of a program whose JVMs are to have these options."""
    return {**os.environ, "JDK_JAVA_OPTIONS": OPTIONS}


def main() -> None:
    """Run a stream through Spark, and have its JVM write the archive when it ends."""
    from muntin import tumbling
    from muntin_engine import events, local_session, module, stop_session

    ARCHIVE.unlink(missing_ok=True)
    options = f"{_QUICK} -XX:ArchiveClassesAtExit={ARCHIVE}"
    with TemporaryDirectory() as folder:
        log = Path(folder, "spark.log")
        spark = local_session("archive", log=log, conf={"spark.driver.extraJavaOptions": options})
        rows = spark.createDataFrame([("a", 1), ("b", 5), ("a", 25)], "key string, at long")
        rows.write.parquet(f"{folder}/rows")
        stream = spark.readStream.schema(rows.schema).parquet(f"{folder}/rows")
        query = events(stream, key="key", at="at", delay=0).window(tumbling(10)).aggregate(n=module("stats.count"))
        query.write(
            results=f"{folder}/results", checkpoint=f"{folder}/checkpoint", trigger="available_now"
        ).awaitTermination()
        spark.read.parquet(f"{folder}/results").collect()
        stop_session(spark)


if __name__ == "__main__":
    main()
