"""Testing a query on the engine's own evaluators, without Spark: random streams, restarts, disorder, errors and costs.

`random_stream` makes scripts, and `shuffle` and `split` change how they arrive but not what they mean.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from muntin_engine.testing.arrow_batch import ArrowBatch
from muntin_engine.testing.crashing import Survived, crash_everywhere
from muntin_engine.testing.disorder import band_disorder, block_disorder, disordered, source_skew
from muntin_engine.testing.measuring import Measured, latencies, mean_error, measure, wrong_share
from muntin_engine.testing.random_streams import random_stream, shuffle, smallest_failing, split
from muntin_engine.testing.reference_join import JoinedEvent, join
from muntin_engine.testing.restart_error import RestartError
from muntin_engine.testing.sink_laws import check_sink
from muntin_engine.testing.sink_trial import SinkLawError

if TYPE_CHECKING:
    from muntin_engine.testing.restart_laws import RestartLaws
else:

    def __getattr__(name):
        """Import the laws of restarts when they are first used: they alone need Hypothesis and pytest."""
        if name != "RestartLaws":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import_module("muntin.testing.laws")  # says what to install where one of them is missing
        laws = globals()[name] = import_module("muntin_engine.testing.restart_laws").RestartLaws
        return laws

    def __dir__():
        """Return the names of everything that is there, used or not."""
        return sorted({*globals(), *__all__})


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
