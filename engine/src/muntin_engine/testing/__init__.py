"""Testing a query on the engine's own evaluators, without Spark: random streams, restarts, disorder, errors and costs.

`random_stream` makes scripts, and `shuffle` and `split` change how they arrive but not what they mean.
"""

from muntin_engine.testing.arrow_batch import ArrowBatch
from muntin_engine.testing.crashing import Survived, crash_everywhere
from muntin_engine.testing.disorder import band_disorder, block_disorder, disordered, source_skew
from muntin_engine.testing.error import RestartError
from muntin_engine.testing.joining import JoinedEvent, join
from muntin_engine.testing.measuring import Measured, latencies, mean_error, measure, wrong_share
from muntin_engine.testing.random_streams import random_stream, shuffle, smallest_failing, split
from muntin_engine.testing.restart_laws import RestartLaws
from muntin_engine.testing.sink_laws import SinkLawError, check_sink

__all__ = [
    "ArrowBatch",
    "JoinedEvent",
    "Measured",
    "RestartError",
    "RestartLaws",
    "SinkLawError",
    "Survived",
    "band_disorder",
    "block_disorder",
    "check_sink",
    "crash_everywhere",
    "disordered",
    "join",
    "latencies",
    "mean_error",
    "measure",
    "random_stream",
    "shuffle",
    "smallest_failing",
    "source_skew",
    "split",
    "wrong_share",
]
