"""The process that Python workers are forked from, with what a bucket needs imported already.

Spark forks a worker whenever all others are busy, and each would import pandas, pyarrow and the engine anew: about a
second of its first micro-batch, on every core. Only a local session names this module (`spark.python.daemon.module`);
on a cluster it may be named as well wherever the engine is installed on the workers.
"""

from __future__ import annotations

import pandas  # noqa: F401
import pyspark.sql.pandas.serializers
import pyspark.sql.streaming.stateful_processor_api_client  # noqa: F401
from pyspark.daemon import manager

from muntin_engine.backends.spark.operators.settled_worker import settle

if __name__ == "__main__":
    settle()
    manager()
