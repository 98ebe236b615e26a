"""The private parts of PySpark that the engine takes: each by its name, here alone.

Spark has no public call for what they give. Where a version of PySpark has renamed one, its function here fails with an
AttributeError that names it. `test_private_parts.py` looks for each in the PySpark that is installed, and for others
that code of this folder might take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from muntin_engine.backends.spark.session.classic import SparkContext

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
    from pyspark.sql.types import StructType

# In a Python worker


def client_of_state(handle: StatefulProcessorHandle) -> Any:
    """Return the client of the state store, which sets the key whose state is read and written.

    `BucketProcessor` keeps a note under a key that has no rows, and looks at the state of other buckets. Without this
    client, it could not tell a bucket that has lost its state from one that never had any.
    """
    return handle._statefulProcessorApiClient


# On the driver, of a session


def jvm_of(spark: SparkSession) -> Any:
    """Return the JVM of a classic session, or None.

    The JVM tells whether the connector for Kafka is installed, and reads compressed files of a checkpoint. If PySpark
    had no such attribute, the driver would send messages to Kafka itself, and damage to those files would show only in
    errors of Spark.
    """
    return getattr(spark, "_jvm", None)


def has_java_context(spark: SparkSession) -> bool:
    """True if the context of a classic session has not been stopped.

    Without this test, checking a query in a stopped session fails with an error of Py4J.
    """
    return getattr(spark.sparkContext, "_jsc", None) is not None


def java_configuration(spark: SparkSession) -> Any:
    """Return the configuration of a classic session as an object of the JVM, from which Spark's codecs are made."""
    java_context: Any = spark.sparkContext._jsc
    return java_context.sc().conf()


def java_session_id(spark: SparkSession) -> str:
    """Return the id of a classic session, under which functions that were registered with it are remembered.

    Without this id, queries would not know which code their SQL calls.
    """
    java_session: Any = spark._jsparkSession
    return str(java_session.sessionUUID())


def analyzed_plan(df: DataFrame) -> str:
    """Return the analyzed plan of a classic DataFrame as JSON, which names the functions that it calls."""
    java_frame: Any = df._jdf
    return str(java_frame.queryExecution().analyzed().toJSON())


def connect_plan(df: Any) -> bytes:
    """Return the plan of a DataFrame of Spark Connect as it is sent, with the names of the functions that it calls."""
    plan: bytes = df._plan.to_proto(df.sparkSession.client).SerializeToString()
    return plan


def connect_relation(df: Any) -> Any:
    """Return the plan of a DataFrame of Spark Connect as a message of Protocol Buffers.

    The message says which tables the DataFrame reads, and which of them as streams.

    Without this plan, a query in a declarative pipeline would have to ask Spark, which refuses to answer there.
    """
    return df._plan.plan(df.sparkSession.client)


def set_known_facts(df: Any, schema: StructType, *, is_stream: bool) -> None:
    """Set the columns of a DataFrame of Spark Connect, and whether it is a stream, so that PySpark does not ask Spark.

    Without these facts, `mapInArrow` and `transformWithState` would ask Spark for the columns of their DataFrame.
    """
    df._cached_schema = schema
    df.isStreaming = is_stream  # the attribute in which PySpark caches the answer


def java_query(running: StreamingQuery) -> Any:
    """Return the object in the JVM of a streaming query, from which `WrittenQuery` is made.

    Without this object, `write` could only return PySpark's own query, whose errors do not begin with the module's
    error.
    """
    return running._jsq


# On the driver, of the process


def active_context() -> SparkContext | None:
    """Return the context that runs in this process, without starting one."""
    return SparkContext._active_spark_context


def gateway() -> Any:
    """Return the connection to the JVM that PySpark has opened, or None.

    If this process has started the JVM, the connection has it as an attribute `proc`.

    Without this connection, a local session could neither see that its JVM has died nor end it.
    """
    return SparkContext._gateway


def jvm() -> Any:
    """Return the JVM of this process, or None if there is none; a listener of streaming queries lives in it."""
    return SparkContext._jvm


def forget_jvm() -> None:
    """Make PySpark forget a JVM that has ended, so that the next session starts another one."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


# Of an error


def cause_of(error: BaseException) -> BaseException | None:
    """Return the cause of an error. For an exception of the JVM, PySpark has it in an attribute of its own."""
    cause: BaseException | None = getattr(error, "_cause", None)
    return cause or error.__cause__


def set_cause(error: BaseException, cause: BaseException) -> None:
    """Give an error of PySpark's class the cause that `cause_of` returns."""
    error._cause = cause  # type: ignore[attr-defined]  # as PySpark itself keeps what it captured
