"""Muntin's engine: run installed modules over windows of a PySpark stream."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from muntin_engine.api.events import events
from muntin_engine.api.functions import functions
from muntin_engine.api.module import module
from muntin_engine.api.query import EventStream, Query, WindowedStream
from muntin_engine.api.request import ModuleCall
from muntin_engine.errors import (
    JavaNotFoundError,
    ModuleNotOnWorkerError,
    NotShippableError,
    SessionConflictError,
    SessionEndedError,
    SetupError,
    ShippingError,
    SinkError,
    SparkStartError,
    StateError,
    StateMismatchError,
    WorkerEnvironmentError,
)
from muntin_engine.monitoring import BatchMetrics, batch_metrics, monitor
from muntin_engine.shipping import ship
from muntin_engine.writing import ChangelogTable, ParquetFolder, Sink, fold, net_changes

if TYPE_CHECKING:
    from muntin_engine.spark.failures import root_cause
    from muntin_engine.spark.session.local import local_session, session, stop_session
    from muntin_engine.spark.session.preconditions import prepare_session
else:
    _WITH_SPARK: Final = {
        "local_session": "muntin_engine.spark.session.local",
        "prepare_session": "muntin_engine.spark.session.preconditions",
        "root_cause": "muntin_engine.spark.failures",
        "session": "muntin_engine.spark.session.local",
        "stop_session": "muntin_engine.spark.session.local",
    }

    def __getattr__(name):
        """Import PySpark with the first of these names that is used: a query is planned without it."""
        if name not in _WITH_SPARK:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_WITH_SPARK[name]), name)


__all__ = [
    "BatchMetrics",
    "ChangelogTable",
    "EventStream",
    "JavaNotFoundError",
    "ModuleCall",
    "ModuleNotOnWorkerError",
    "NotShippableError",
    "ParquetFolder",
    "Query",
    "SessionConflictError",
    "SessionEndedError",
    "SetupError",
    "ShippingError",
    "Sink",
    "SinkError",
    "SparkStartError",
    "StateError",
    "StateMismatchError",
    "WindowedStream",
    "WorkerEnvironmentError",
    "batch_metrics",
    "events",
    "fold",
    "functions",
    "local_session",
    "module",
    "monitor",
    "net_changes",
    "prepare_session",
    "root_cause",
    "session",
    "ship",
    "stop_session",
]
