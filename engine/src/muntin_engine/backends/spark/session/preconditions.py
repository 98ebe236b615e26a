"""Settings of a session that a stateful query needs."""

from __future__ import annotations

import os
import re
import sys
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from muntin_engine.backends.spark.session.classic import SparkContext
from muntin_engine.backends.spark.session.declarative_pipelines import is_in_pipeline
from muntin_engine.backends.spark.session.kinds import AnySession, is_connect
from muntin_engine.backends.spark.session.settings import read_setting, set_where_allowed
from muntin_engine.errors import SetupError

_STATE_STORE: Final = "spark.sql.streaming.stateStore"
_PROVIDER: Final = f"{_STATE_STORE}.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

QUERY_SETTINGS: Final = MappingProxyType(
    {
        _PROVIDER: _ROCKSDB,
        f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }
)
"""Settings that queries need of a session, or run better with; all can change while a session runs."""

_ANY_PYTHON: Final = "python3"
"""The command by which PySpark starts workers if PYSPARK_PYTHON is not set: the first on the PATH."""

_PARTITIONS: Final = "spark.sql.shuffle.partitions"


def prepare_session(spark: SparkSession) -> SparkSession:
    """Set what queries need in a session that comes from elsewhere, and return it.

    What the session was started with, or has been set to, stays. The one exception is a state store that cannot hold
    a query's state. A query that has a checkpoint goes on with the state store and partitions that it started with.

    The settings are Spark's state store in RocksDB with its changelog, 16 shuffle partitions, which are as many as a
    query has buckets, and Arrow batches of up to 100,000 rows. On this machine (`local[2]`, for example) workers that
    start from now on run the Python of this process, unless `PYSPARK_PYTHON` names another; on a cluster they do not.

    In a file of a declarative pipeline nothing is set: the settings of a pipeline stand in its `spark-pipeline.yml`.

    A setting that the session refuses, as serverless platforms do, is logged as a warning, and queries go on without
    it. A state store that cannot hold a query's state is named when the query starts.

    Args:
        spark: The session of a cluster, a notebook or a platform, or one of Spark Connect. Streaming queries that start
            in it from now on get these settings, also those without Muntin.

    Example:
        ```python
        spark = prepare_session(SparkSession.builder.getOrCreate())
        ```
    """
    if is_in_pipeline():
        return spark  # if `spark-pipeline.yml` lacks the state store, `check_session` says so
    missing: dict[str, str] = {}
    for key, value in {**QUERY_SETTINGS, _PARTITIONS: "16"}.items():
        is_unset = read_setting(spark, key, default=None) is None
        is_unusable = key == _PROVIDER and not _holds_state(spark)
        if is_unset or is_unusable:
            missing[key] = value
    set_where_allowed(spark, missing)
    if not is_connect(spark):
        _use_this_python(spark.sparkContext)
    return spark


def _use_this_python(context: SparkContext) -> None:
    """Have the workers of a session on this machine run the Python of this process, unless another one was chosen."""
    is_local = re.match(r"local(\[|$)", context.master or "") is not None
    is_chosen = "PYSPARK_PYTHON" in os.environ or context.pythonExec != _ANY_PYTHON
    if is_local and not is_chosen and sys.executable:
        context.pythonExec = sys.executable


def check_session(spark: AnySession) -> None:
    """Refuse a session whose state store cannot hold a stateful operator's variables.

    Raises:
        SetupError: The state store is not RocksDB.
    """
    if not _holds_state(spark):
        provider = read_setting(spark, _PROVIDER, "") or "its default"
        if is_in_pipeline():
            raise SetupError(
                f"the pipeline keeps streaming state in {provider}, which cannot hold a query's state\n"
                "  add to spark-pipeline.yml:\n"
                f"  configuration:\n    {_PROVIDER}: {_ROCKSDB}"
            )
        raise SetupError(
            f"the session keeps streaming state in {provider}, which cannot hold a query's state\n"
            f"  expected: {_PROVIDER} is {_ROCKSDB}\n"
            "  before the query starts, call muntin_engine.prepare_session(spark), which sets it; where the session\n"
            "  refuses that, as on some platforms, have it started with this setting"
        )


def _holds_state(spark: AnySession) -> bool:
    """Return True if the state store of a session is RocksDB, which alone holds the state of a query."""
    # If the session refuses to tell, it may be RocksDB. If it is not, Spark raises when the query starts.
    return "RocksDB" in read_setting(spark, _PROVIDER, "", if_refused=_ROCKSDB)
