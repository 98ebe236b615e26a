"""The Spark session of a lane."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from muntin_engine.backends.spark.session.local import local_session
from tests.quick_spark.jvm import OPTIONS


@cache
def session() -> SparkSession:
    """Return the one session of this process, started when it is first asked for."""
    log = Path(tempfile.mkdtemp(prefix="torture-spark-")) / "spark.log"
    return local_session("muntin torture", log=log, conf={"spark.driver.extraJavaOptions": OPTIONS})
