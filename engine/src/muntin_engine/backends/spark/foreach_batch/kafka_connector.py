"""Messages to Kafka by Spark's own connector, which sends them from the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from muntin_engine.backends.spark.private_parts import jvm_of
from muntin_engine.plan.request import backquoted
from muntin_engine.sinks.distributed_rows import KafkaConnector

_JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}


class SparkKafkaConnector(KafkaConnector):
    """Sends the rows of micro-batches from Spark's workers."""

    def send(
        self,
        batch: DataFrame,
        keys: Sequence[str],
        *,
        query_id: str,
        batch_id: int,
        servers: str,
        topic: str,
        options: Mapping[str, str],
    ) -> None:
        """Send the rows of a micro-batch, and wait until all replicas in sync have all of them.

        The arguments are those of `KafkaConnector.send`.
        """
        # These options come last, so that no option of the query writer can have rows lost.
        safe_options = {**options, "bootstrap.servers": servers, "acks": "all", "enable.idempotence": "true"}
        writer = messages(batch, keys, query_id, batch_id).write.format("kafka").option("topic", topic)
        writer.options(**{f"kafka.{name}": value for name, value in safe_options.items()}).save()


def has_kafka_connector(batch: object) -> bool:
    """True if the session of a micro-batch has Spark's connector for Kafka.

    False on Spark Connect, where the JVM of the session cannot be asked for it.
    """
    session = batch.sparkSession if isinstance(batch, DataFrame) else None
    jvm = jvm_of(session) if isinstance(session, SparkSession) else None
    if jvm is None:
        return False
    utils = jvm.org.apache.spark.util.Utils
    return bool(utils.classIsLoadable("org.apache.spark.sql.kafka010.KafkaSourceProvider"))


def messages(batch: DataFrame, keys: Sequence[str], query_id: str, batch_id: int) -> DataFrame:
    """Return the rows of a micro-batch as messages for Spark's connector.

    Args:
        batch: The rows.
        keys: The names of the key columns; empty for messages without a key.
        query_id: The id of the query, which is part of the ids of rows.
        batch_id: The number of the micro-batch.

    Returns:
        The columns `key`, `value` and `headers`, which are those of `muntin_engine.sinks.kafka_topic.Message`.

    Cost:
        One shuffle, in which equal rows are counted.
    """
    value = F.to_json(F.struct("*"), _JSON_OPTIONS)
    key = F.lit(None)
    if keys:
        key_columns = [F.col(backquoted(name)) for name in keys]
        key = F.to_json(F.struct(*key_columns), _JSON_OPTIONS)
    rows = batch.select(key.cast("string").alias("key"), value.alias("value"))

    # The id of a message has to be the same when its micro-batch comes again, with its rows in another order. So it is
    # a hash of the row's own text, and of its number among equal rows.
    equal_rows = Window.partitionBy("value").orderBy("value")  # any order will do, but Spark demands one
    number = F.row_number().over(equal_rows)
    identity = F.concat_ws(" ", F.lit(query_id), F.lit(batch_id), number, "value")
    headers = {"muntin-id": F.substring(F.sha2(identity, 256), 1, 32), "muntin-batch": F.lit(str(batch_id))}
    header_structs: list[Column] = []
    for name, text in headers.items():
        header_structs.append(F.struct(F.lit(name).alias("key"), F.encode(text, "UTF-8").alias("value")))
    return rows.withColumn("headers", F.array(*header_structs))
