"""A topic of Kafka: rows as messages, against the brokers that librdkafka pretends to be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pytest
from confluent_kafka import Message

from muntin.errors import QueryError
from muntin_engine.errors import SetupError
from muntin_engine.sinks.kafka_topic import KafkaTopic
from muntin_engine.testing import ArrowBatch, check_sink
from tests.engine.sinks.kafka_brokers import brokers, read_topic


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with brokers() as addresses:
        yield addresses


def opened(address: str, *keys: str, query: str = "q1") -> KafkaTopic:
    """Return a new sink of a topic, opened by a query with keys."""
    sink = KafkaTopic(address)
    sink.keyed_by(keys)
    sink.open(query)
    return sink


def write(sink: KafkaTopic, batch_id: int, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> None:
    sink.write(cast("Any", ArrowBatch(pa.Table.from_pylist(rows, schema))), batch_id)


def value_of(message: Message) -> bytes:
    return cast("bytes", message.value())


def headers_of(message: Message) -> dict[str, bytes]:
    return dict(cast("list[tuple[str, bytes]]", message.headers()))


def test_a_row_is_a_message_with_its_key_an_id_and_the_number_of_its_micro_batch(servers: str) -> None:
    sink = opened(f"kafka://{servers}/bikes", "station", "line")
    write(sink, 7, [{"n": 1, "station": "north", "line": None}, {"n": 2, "station": "north", "line": None}])
    first, second = read_topic(servers, "bikes")
    assert first.key() == second.key() == b'{"station":"north","line":null}'
    assert first.partition() == second.partition()
    assert [value_of(message) for message in (first, second)] == [
        b'{"n":1,"station":"north","line":null}',
        b'{"n":2,"station":"north","line":null}',
    ]
    headers = headers_of(first)
    assert sorted(headers) == ["muntin-batch", "muntin-id"]
    assert headers["muntin-batch"] == b"7"
    assert len(headers["muntin-id"]) == 32


def test_a_micro_batch_that_comes_again_has_the_same_ids_and_no_other_row_has_them(servers: str) -> None:
    rows: list[dict[str, Any]] = [{"n": 1}, {"n": 2}, {"n": 1}]
    topic = f"kafka://{servers}/again"
    write(opened(topic, query="q1"), 0, rows)
    write(opened(topic, query="q1"), 0, rows[::-1])  # it comes again, in another order
    write(opened(topic, query="q1"), 1, rows)
    write(opened(topic, query="q2"), 0, rows)

    messages = read_topic(servers, "again")
    assert len(messages) == 4 * len(rows)
    assert {message.key() for message in messages} == {None}
    message_by_id = {headers_of(message)["muntin-id"]: message for message in messages}
    assert len(message_by_id) == 3 * len(rows)
    numbers = [json.loads(value_of(message))["n"] for message in message_by_id.values()]
    assert sorted(numbers) == [1, 1, 1, 1, 1, 1, 2, 2, 2]


def test_messages_that_are_not_acknowledged_are_an_error_and_the_others_are_there(servers: str) -> None:
    sink = KafkaTopic(f"kafka://{servers}/small", {"message.max.bytes": "1000"})
    sink.open("q")
    with pytest.raises(SetupError, match=r"not all of 2 messages were acknowledged by kafka://.*/small: .*MSG_SIZE"):
        write(sink, 0, [{"text": "a"}, {"text": "a" * 2000}])
    write(sink, 0, [{"text": "a"}])
    assert {value_of(message) for message in read_topic(servers, "small")} == {b'{"text":"a"}'}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("kafka://one:9092", "kafka://one:9092 does not name a topic"),
        ("kafka://one:9092/a/b", "kafka://one:9092/a/b does not name a topic"),
        ("kafka://me:secret@one:9092/bikes", "^kafka://one:9092/bikes does not name a topic"),
        ("kafka://one:9092/bikes?acks=0", "kafka://one:9092/bikes does not take the option 'acks'"),
    ],
)
def test_an_address_names_brokers_and_a_topic(address: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        KafkaTopic(address)


def test_a_password_is_shown_nowhere(servers: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = {"sasl.username": "me", "sasl.password": "s3cret", "security.protocol": "nonsense"}
    sink = KafkaTopic(f"kafka://{servers}/bikes", options)
    sink.open("q")
    with pytest.raises(SetupError, match=r"kafka://.*: .*security\.protocol") as error:
        write(sink, 0, [{"n": 1}])
    for text in (str(sink), str(error.value), *capfd.readouterr()):
        assert "s3cret" not in text


@pytest.mark.nightly
def test_a_topic_keeps_the_laws_of_a_sink_that_is_at_least_once(servers: str) -> None:
    topics: set[str] = set()

    def make(topic: str) -> KafkaTopic:
        topics.add(topic)
        return KafkaTopic(f"kafka://{servers}/{topic}")

    def read(topic: str) -> list[Any]:
        if topic not in topics:
            return []
        return [json.loads(value_of(message)) for message in read_topic(servers, topic)]

    lines_between_crashes = 1 if "MUNTIN_KILLS" in os.environ else 60
    verdicts = check_sink(make, read, every=lines_between_crashes)
    assert "does not say which micro-batch it has" in verdicts.pop("last_written is the last micro-batch")
    verdict_of_missing_rows = verdicts.pop("what was written is taken away, and it is missed")
    assert verdict_of_missing_rows.startswith("not tried")  # a topic cannot know
    assert set(verdicts.values()) == {"holds"}
