"""Muntin's engine: run installed modules over windows of a table in this process, or of a stream in Spark."""

from typing import TYPE_CHECKING, Final

from muntin_engine.backends.observed_queries import OBSERVERS, QueryObserver

if TYPE_CHECKING:
    from muntin.modules.call import ModuleCall, StreamColumns
    from muntin_engine.api.changelogs import final_rows, fold, net_changes
    from muntin_engine.api.events import events
    from muntin_engine.api.functions import condition, expression, functions
    from muntin_engine.api.module import from_stream, module
    from muntin_engine.api.one_pass import OnePass, one_pass
    from muntin_engine.api.query import EventStream, Query, WindowedStream
    from muntin_engine.api.shipping import ship
    from muntin_engine.api.sql_query import sql
    from muntin_engine.api.text.reading import one_pass_from_dict, query_from_dict
    from muntin_engine.api.text.schema import query_schema
    from muntin_engine.api.union import union
    from muntin_engine.backends.spark.checkpoints.query_texts import read_query
    from muntin_engine.backends.spark.checkpoints.state_table import read_state
    from muntin_engine.backends.spark.failures.root_cause import root_cause
    from muntin_engine.backends.spark.session.local import local_session, spark_session, stop_session
    from muntin_engine.backends.spark.session.preconditions import prepare_session
    from muntin_engine.errors import (
        JavaNotFoundError,
        ModuleNotOnWorkerError,
        NotShippableError,
        RecordingError,
        ResultOverflowError,
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
    from muntin_engine.monitoring import BatchMetrics, RunningQuery, SourceMetrics, batch_metrics, monitor, queries
    from muntin_engine.monitoring.alerts import Alert, alert
    from muntin_engine.monitoring.logs import JsonFormatter, log_metrics
    from muntin_engine.monitoring.metrics_listener import MetricsListener
    from muntin_engine.monitoring.opentelemetry import opentelemetry_metrics
    from muntin_engine.monitoring.prometheus import prometheus_metrics
    from muntin_engine.plan.request import JoinCondition
    from muntin_engine.recording.backtest.backtest import backtest
    from muntin_engine.recording.recording import Recording
    from muntin_engine.sinks.changelog_table import ChangelogTable
    from muntin_engine.sinks.checkpoint_copy import CheckpointCopy, copy_checkpoint
    from muntin_engine.sinks.database_table import DatabaseTable
    from muntin_engine.sinks.delta_lake_table import DeltaLakeTable
    from muntin_engine.sinks.iceberg_table import IcebergTable
    from muntin_engine.sinks.kafka_topic import KafkaTopic
    from muntin_engine.sinks.parquet_folder import ParquetFolder
    from muntin_engine.sinks.recordings.recorder import Recorder
    from muntin_engine.sinks.sink import Sink
    from muntin_engine.sinks.written_batch import WrittenBatch
else:
    _NAMES_OF_MODULES: Final = {
        "muntin_engine.api.changelogs": ("final_rows", "fold", "net_changes"),
        "muntin_engine.api.events": ("events",),
        "muntin_engine.api.functions": ("condition", "expression", "functions"),
        "muntin_engine.api.module": ("from_stream", "module"),
        "muntin_engine.api.one_pass": ("OnePass", "one_pass"),
        "muntin_engine.api.query": ("EventStream", "Query", "WindowedStream"),
        "muntin.modules.call": ("ModuleCall", "StreamColumns"),
        "muntin_engine.plan.request": ("JoinCondition",),
        "muntin_engine.api.text.reading": ("one_pass_from_dict", "query_from_dict"),
        "muntin_engine.api.sql_query": ("sql",),
        "muntin_engine.api.text.schema": ("query_schema",),
        "muntin_engine.api.union": ("union",),
        "muntin_engine.errors": (
            "JavaNotFoundError",
            "ModuleNotOnWorkerError",
            "NotShippableError",
            "RecordingError",
            "ResultOverflowError",
            "SessionConflictError",
            "SessionEndedError",
            "SetupError",
            "ShippingError",
            "SinkError",
            "SparkStartError",
            "StateError",
            "StateMismatchError",
            "WorkerEnvironmentError",
        ),
        "muntin_engine.monitoring": (
            *("BatchMetrics", "RunningQuery", "SourceMetrics", "batch_metrics", "monitor", "queries"),
        ),
        "muntin_engine.monitoring.alerts": ("Alert", "alert"),
        "muntin_engine.monitoring.logs": ("JsonFormatter", "log_metrics"),
        "muntin_engine.monitoring.opentelemetry": ("opentelemetry_metrics",),
        "muntin_engine.monitoring.prometheus": ("prometheus_metrics",),
        "muntin_engine.sinks.recordings.recorder": ("Recorder",),
        "muntin_engine.recording.backtest.backtest": ("backtest",),
        "muntin_engine.recording.recording": ("Recording",),
        "muntin_engine.api.shipping": ("ship",),
        "muntin_engine.sinks.changelog_table": ("ChangelogTable",),
        "muntin_engine.sinks.checkpoint_copy": ("CheckpointCopy", "copy_checkpoint"),
        "muntin_engine.sinks.database_table": ("DatabaseTable",),
        "muntin_engine.sinks.delta_lake_table": ("DeltaLakeTable",),
        "muntin_engine.sinks.iceberg_table": ("IcebergTable",),
        "muntin_engine.sinks.kafka_topic": ("KafkaTopic",),
        "muntin_engine.sinks.parquet_folder": ("ParquetFolder",),
        "muntin_engine.sinks.sink": ("Sink",),
        "muntin_engine.sinks.written_batch": ("WrittenBatch",),
        "muntin_engine.backends.spark.failures.root_cause": ("root_cause",),
        "muntin_engine.monitoring.metrics_listener": ("MetricsListener",),
        "muntin_engine.backends.spark.session.local": ("local_session", "spark_session", "stop_session"),
        "muntin_engine.backends.spark.session.preconditions": ("prepare_session",),
        "muntin_engine.backends.spark.checkpoints.query_texts": ("read_query",),
        "muntin_engine.backends.spark.checkpoints.state_table": ("read_state",),
    }
    _MODULE_OF_NAME: Final = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}

    def __getattr__(name):
        """Return the class or function of a public name, whose module is imported when the name is first used.

        Importing `muntin_engine` alone stays cheap. A query can so be planned where PySpark is not installed, and the
        process that Spark starts on the driver for each stateful operator imports nothing but that operator.

        Raises:
            AttributeError: The engine has no such name.
            SetupError: The name is of something that runs on Spark, and PySpark is not installed.
        """
        if name not in _MODULE_OF_NAME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Not at the top of the file: `needed` imports the SDK, which the process of an operator can do without.
        from muntin_engine.needed import engine_module

        module = engine_module(_MODULE_OF_NAME[name], feature=name)
        value = getattr(module, name)
        globals()[name] = value  # the next use finds the name here, and does not call this function
        return value

    def __dir__():
        """Return all public names, also those whose modules are not imported yet."""
        return sorted({*globals(), *__all__})


def _make_warner() -> QueryObserver:
    """Make the observer that warns of late and rejected rows that no sink takes, and of values that no column holds."""
    from muntin_engine.monitoring.observer import Warner

    return Warner()


OBSERVERS.attach(_make_warner)  # attached here, because every program that has a query imports this module

__all__ = [
    "Alert",
    "BatchMetrics",
    "ChangelogTable",
    "CheckpointCopy",
    "DatabaseTable",
    "DeltaLakeTable",
    "EventStream",
    "IcebergTable",
    "JavaNotFoundError",
    "JoinCondition",
    "JsonFormatter",
    "KafkaTopic",
    "MetricsListener",
    "ModuleCall",
    "ModuleNotOnWorkerError",
    "NotShippableError",
    "OnePass",
    "ParquetFolder",
    "Query",
    "Recorder",
    "Recording",
    "RecordingError",
    "ResultOverflowError",
    "RunningQuery",
    "SessionConflictError",
    "SessionEndedError",
    "SetupError",
    "ShippingError",
    "Sink",
    "SinkError",
    "SourceMetrics",
    "SparkStartError",
    "StateError",
    "StateMismatchError",
    "StreamColumns",
    "WindowedStream",
    "WorkerEnvironmentError",
    "WrittenBatch",
    "alert",
    "backtest",
    "batch_metrics",
    "condition",
    "copy_checkpoint",
    "events",
    "expression",
    "final_rows",
    "fold",
    "from_stream",
    "functions",
    "local_session",
    "log_metrics",
    "module",
    "monitor",
    "net_changes",
    "one_pass",
    "one_pass_from_dict",
    "opentelemetry_metrics",
    "prepare_session",
    "prometheus_metrics",
    "queries",
    "query_from_dict",
    "query_schema",
    "read_query",
    "read_state",
    "root_cause",
    "ship",
    "spark_session",
    "sql",
    "stop_session",
    "union",
]
