"""A topic of Kafka."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from muntin.errors import QueryError
from muntin_engine.errors import SetupError
from muntin_engine.needed import required_module
from muntin_engine.sinks.distributed_rows import backend_of_rows
from muntin_engine.sinks.json_text import json_of, with_shortest_floats
from muntin_engine.sinks.sink import Sink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_TOPIC: Final = re.compile(r"/([A-Za-z0-9._-]+)")
_PATIENCE: Final = 30
"""Seconds in which a broker must answer."""

_OPTIONS_THAT_LOSE_ROWS: Final = frozenset({"acks", "enable.idempotence", "request.required.acks"})
"""The options of the client that a query writer cannot set: with other values than this sink's, rows could be lost."""


class Message(NamedTuple):
    """A row as a message.

    Attributes:
        key: The query's keys as JSON; None if it has none.
        value: The row as JSON.
        headers: The headers by name. `muntin-id` is the id of the row, which is the same if the micro-batch comes again
            and which no other row has. `muntin-batch` is the number of the micro-batch.
    """

    key: str | None
    value: str
    headers: dict[str, str]


class KafkaTopic(Sink):
    """Sends each row to a topic: at least once, and the same row with the same id.

    A message has the query's keys as its key, null if it has none, and the row as its value, both as JSON objects, so
    that rows of one key are in one partition. The header `muntin-id` names the row: a micro-batch that comes again
    sends messages with ids that were sent before, and a reader that skips those has each row once. The header
    `muntin-batch` is the number of the micro-batch. All messages of a micro-batch are acknowledged by all replicas in
    sync before the next one begins.

    Spark's connector sends them from the workers where it is installed, as `spark-sql-kafka-0-10` brings it. Otherwise
    `confluent-kafka` sends them from the driver, through whose memory they pass.

    Example:
        >>> str(KafkaTopic("kafka://one:9092,two:9092/bikes"))
        'kafka://one:9092,two:9092/bikes'
    """

    guarantee = "at least once: a row that comes again has the same header muntin-id"

    def __init__(self, address: str, options: Mapping[str, str] | None = None) -> None:
        """Take an address.

        Args:
            address: `kafka://host:port,host:port/topic`. Options of the client may follow, as in `?linger.ms=50`.
            options: Options of the client, such as passwords. Their names are those of Spark's connector without
                `kafka.`, or those of `confluent-kafka` where the driver sends the rows. `acks` and `enable.idempotence`
                are refused, as this sink sets them.

        Raises:
            QueryError: The address names no topic, or names a user; or an option would let rows be lost.
        """
        url = urlsplit(address)
        topic = _TOPIC.fullmatch(url.path)
        if url.scheme != "kafka" or not url.netloc or "@" in url.netloc or topic is None:
            without_user = url.netloc.rpartition("@")[2]
            raise QueryError(
                f"kafka://{without_user}{url.path} does not name a topic\n"
                "  expected kafka://host:port/topic; a user and a password are options of the client"
            )
        self._servers = url.netloc
        self._topic = topic[1]
        self._options = {**dict(parse_qsl(url.query)), **(options or {})}
        refused_options = _OPTIONS_THAT_LOSE_ROWS & set(self._options)
        if refused_options:
            raise QueryError(
                f"{self} does not take the option {min(refused_options)!r}\n"
                "  each message is acknowledged by all replicas in sync, as messages could be lost otherwise"
            )
        self._keys: list[str] = []
        self._query_id = ""
        self._producer: Any = None

    def __str__(self) -> str:
        return f"kafka://{self._servers}/{self._topic}"

    @property
    def destination(self) -> str:
        """The brokers and the topic."""
        return str(self)

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the keys of the messages."""
        self._keys = list(keys)

    def open(self, query_id: str) -> None:
        """Begin a run of a query, whose id is part of the ids of rows."""
        self._query_id = query_id
        self._producer = None  # made anew with the first messages that the driver sends

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Send the rows of a micro-batch, and wait until all are acknowledged.

        Raises:
            SetupError: A message was not acknowledged, or no client for Kafka is installed.
        """
        backend = backend_of_rows(batch)
        connector = None if backend is None else backend.kafka_connector(batch)
        if connector is not None:
            connector.send(
                batch,
                self._keys,
                query_id=self._query_id,
                batch_id=batch_id,
                servers=self._servers,
                topic=self._topic,
                options=self._options,
            )
            return
        self._send(list(self._messages(batch.toArrow(), batch_id)))

    def _messages(self, rows: pa.Table, batch_id: int) -> Iterator[Message]:
        """Yield the messages of the rows of a micro-batch, which are those that Spark's connector sends.

        The id of a row is a hash of its own text, so that it does not depend on the order of the rows, which may be
        another one when the micro-batch comes again. Equal rows are told apart by counting them.
        """
        counts_of_values: Counter[str] = Counter()
        for row in with_shortest_floats(rows).to_pylist(maps_as_pydicts="strict"):
            value = json_of(row)
            counts_of_values[value] += 1
            identity = f"{self._query_id} {batch_id} {counts_of_values[value]} {value}"
            headers = {"muntin-id": sha256(identity.encode()).hexdigest()[:32], "muntin-batch": str(batch_id)}
            key = json_of({name: row[name] for name in self._keys}) if self._keys else None
            yield Message(key, value, headers)

    def _send(self, messages: Sequence[Message]) -> None:
        """Send messages from the driver, and wait until all are acknowledged.

        Raises:
            SetupError: A message was not acknowledged, or `confluent-kafka` is not installed.
        """
        client = required_module("confluent_kafka", feature=f"{self}, without Spark's connector,", extra="kafka")
        failures: list[str] = []

        # The client calls this once for each message; the error is None if the message was acknowledged.
        def note_failure(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(str(error))

        try:
            if self._producer is None:
                options = {"partitioner": "murmur2_random", **self._options}  # as clients in Java choose partitions
                options |= {"bootstrap.servers": self._servers, "enable.idempotence": "true"}
                self._producer = client.Producer(options)
                self._producer.list_topics(self._topic, timeout=_PATIENCE)  # raises if no broker answers
            for message in messages:
                while True:  # until the client takes the message
                    try:
                        self._producer.produce(self._topic, on_delivery=note_failure, **message._asdict())
                        break
                    except BufferError:  # the client's buffer is full: wait for acknowledgements
                        self._producer.poll(1)
            self._producer.flush()
        except client.KafkaException as error:
            failures.append(str(error))
        if failures:
            self._producer = None  # a producer sends nothing any more after some errors: the next start makes another
            raise SetupError(
                f"not all of {len(messages)} messages were acknowledged by {self}: {failures[0]}\n"
                "  expected a broker that takes them; when it does, start the query again: they are sent again, with "
                "the same ids"
            )
