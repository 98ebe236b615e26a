"""Muntin's engine: run installed modules over windows of a PySpark stream."""

from muntin_engine.errors import (
    JavaNotFoundError,
    ModuleNotOnWorkerError,
    SessionConflictError,
    SetupError,
    ShippingError,
    SinkError,
    SparkStartError,
    StateError,
    StateMismatchError,
)
from muntin_engine.event_stream import EventStream, events
from muntin_engine.monitoring import BatchNumbers, batch_numbers, monitor
from muntin_engine.query import ModuleCall, Query, WindowedStream, functions, module
from muntin_engine.writing import ChangelogTable, ParquetFolder, Sink, fold, net_changes

__all__ = [
    "BatchNumbers",
    "ChangelogTable",
    "EventStream",
    "JavaNotFoundError",
    "ModuleCall",
    "ModuleNotOnWorkerError",
    "ParquetFolder",
    "Query",
    "SessionConflictError",
    "SetupError",
    "ShippingError",
    "Sink",
    "SinkError",
    "SparkStartError",
    "StateError",
    "StateMismatchError",
    "WindowedStream",
    "batch_numbers",
    "events",
    "fold",
    "functions",
    "module",
    "monitor",
    "net_changes",
]
