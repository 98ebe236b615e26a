"""A program for Quix Streams over its own windows and state, with what would reach a broker left out."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import runpy
from itertools import chain
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock


def run_program(path: str) -> dict[str, Any]:
    """Run the function `averages` of a program over its `deliveries`, and return what the program has defined.

    Args:
        path: The program; it is not run as `__main__`.
    """
    from quixstreams.dataframe.dataframe import StreamingDataFrame
    from quixstreams.dataframe.registry import DataFrameRegistry
    from quixstreams.models import MessageContext, Topic, TopicConfig
    from quixstreams.models.topics import TopicManager
    from quixstreams.processing import ProcessingContext
    from quixstreams.sinks import SinkManager
    from quixstreams.state import StateStoreManager

    # The topic, with the settings that a broker would have for it.
    program = runpy.run_path(path)
    topic = Topic("readings")
    retention = {"retention.ms": "-1", "retention.bytes": "-1"}
    topic.broker_config = TopicConfig(num_partitions=1, replication_factor=1, extra_config=retention)
    with TemporaryDirectory() as folder:
        stores = StateStoreManager(group_id="averages", state_dir=folder)
        stores.init()
        registry = DataFrameRegistry()
        context = ProcessingContext(
            producer=MagicMock(),
            consumer=MagicMock(),
            commit_interval=0,
            state_manager=stores,
            sink_manager=SinkManager(),
            dataframe_registry=registry,
        )
        context.init_checkpoint()
        readings = StreamingDataFrame(
            topic, topic_manager=MagicMock(spec=TopicManager), registry=registry, processing_context=context
        )
        registry.register_root(readings)
        averages = program["averages"](readings)

        # The messages, as a consumer would hand them over: one after the other, of a single partition.
        stores.on_partition_assign(stream_id=readings.stream_id, partition=0, committed_offsets={})
        messages = chain.from_iterable(program["deliveries"])
        for offset, (sensor, at, celsius) in enumerate(messages):
            reading = {"sensor": sensor, "at": at, "celsius": celsius}
            message = MessageContext(topic=topic.name, partition=0, offset=offset, size=1)
            time = program["time_of"](reading, None, 0, 0)
            averages.test(reading, key=sensor, timestamp=time, ctx=message)
        stores.close()
    return program
