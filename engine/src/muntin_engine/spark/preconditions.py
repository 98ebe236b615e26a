"""What a session must be set to before a stateful query can start."""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

from muntin_engine.errors import SetupError

_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_session(spark: SparkSession) -> None:
    """Refuse a session whose state store cannot hold a stateful operator's variables.

    Raises:
        SetupError: The state store is not RocksDB.
    """
    provider = spark.conf.get(_PROVIDER, "") or ""
    if "RocksDB" not in provider:
        raise SetupError(
            f"the session keeps streaming state in {provider or 'its default'}, which cannot hold a query's state\n"
            f"  before the query starts: spark.conf.set({_PROVIDER!r}, {_ROCKSDB!r})"
        )
