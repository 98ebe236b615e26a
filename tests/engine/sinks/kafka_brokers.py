"""Brokers that librdkafka pretends to be, in this process; any client of Kafka can connect to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

_PATIENCE = 30


@contextmanager
def brokers(count: int = 3) -> Iterator[str]:
    """Start brokers, and enter a block with their addresses; they live as long as the client that started them."""
    client = Producer({"test.mock.num.brokers": count, "bootstrap.servers": "mock", "log_level": 2})
    broker_metadata = client.list_topics(timeout=_PATIENCE).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in broker_metadata)


def read_topic(servers: str, topic: str) -> list[Message]:
    """Return all messages of a topic that are there now, by partition and offset."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "log_level": 2})
    try:
        partitions = consumer.list_topics(topic, timeout=_PATIENCE).topics[topic].partitions
        message_count = 0
        for number in partitions:  # whose messages have offsets from 0 to the end
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_PATIENCE)
            message_count += end
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        messages: list[Message] = []
        while len(messages) < message_count:
            message = consumer.poll(_PATIENCE)
            assert message is not None, f"{len(messages)} of {message_count} messages came"
            error: KafkaError | None = message.error()
            assert error is None, error
            messages.append(message)
    finally:
        consumer.close()
    return sorted(messages, key=lambda message: (message.partition(), message.offset()))
