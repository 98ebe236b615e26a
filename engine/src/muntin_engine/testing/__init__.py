"""Testing a query on the engine's own evaluators, without Spark: restarts, disorder, errors and costs."""

from muntin_engine.testing.crashing import Survived, crash_everywhere
from muntin_engine.testing.disorder import band_disorder, block_disorder, disordered, source_skew
from muntin_engine.testing.error import RestartError
from muntin_engine.testing.measuring import Measured, latencies, mean_error, measure, wrong_share
from muntin_engine.testing.restart_laws import RestartLaws

__all__ = [
    "Measured",
    "RestartError",
    "RestartLaws",
    "Survived",
    "band_disorder",
    "block_disorder",
    "crash_everywhere",
    "disordered",
    "latencies",
    "mean_error",
    "measure",
    "source_skew",
    "wrong_share",
]
