"""The two kinds of sessions: the driver of a classic one is this process; Spark Connect has it on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

AnySession: TypeAlias = "SparkSession | ConnectSession"
"""A session of either kind."""


def is_connect(spark: AnySession) -> bool:
    """Return True if a session's driver is a Spark Connect server."""
    return not isinstance(spark, SparkSession)


def name_of(spark: AnySession) -> str:
    """Return an id of a session, unique as long as this process lives.

    Classic sessions of one Spark context have the same id: they share their workers and packages.
    """
    return spark.sparkContext.applicationId if isinstance(spark, SparkSession) else spark.session_id
