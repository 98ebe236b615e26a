"""Muntin's engine: run installed modules over windows of a PySpark stream."""

from muntin_engine.errors import (
    JavaNotFoundError,
    ModuleNotOnWorkerError,
    SessionConflictError,
    SetupError,
    ShippingError,
    SparkStartError,
    StateError,
    StateMismatchError,
)
from muntin_engine.event_stream import EventStream, events
from muntin_engine.query import ModuleCall, Query, WindowedStream, functions, module

__all__ = [
    "EventStream",
    "JavaNotFoundError",
    "ModuleCall",
    "ModuleNotOnWorkerError",
    "Query",
    "SessionConflictError",
    "SetupError",
    "ShippingError",
    "SparkStartError",
    "StateError",
    "StateMismatchError",
    "WindowedStream",
    "events",
    "functions",
    "module",
]
