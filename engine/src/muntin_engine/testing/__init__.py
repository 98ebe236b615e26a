"""Testing a query on the engine's own evaluators, without Spark: does a restart show, and what does it cost?"""

from muntin_engine.testing.crashing import Survived, crash_everywhere
from muntin_engine.testing.error import RestartError
from muntin_engine.testing.measuring import Measured, measure
from muntin_engine.testing.restart_laws import RestartLaws

__all__ = [
    "Measured",
    "RestartError",
    "RestartLaws",
    "Survived",
    "crash_everywhere",
    "measure",
]
