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
from muntin_engine.query import EventStream, ModuleCall, Query, WindowedStream, events, functions, module

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
