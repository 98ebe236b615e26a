"""The sinks that take the output of a query."""

from muntin_engine.sinks.changelog_table import ChangelogTable
from muntin_engine.sinks.checkpoint_copy import CheckpointCopy, copy_checkpoint
from muntin_engine.sinks.choosing import choose_sinks, spelled_output
from muntin_engine.sinks.database_table import DatabaseTable
from muntin_engine.sinks.delta_lake_table import DeltaLakeTable
from muntin_engine.sinks.iceberg_table import IcebergTable
from muntin_engine.sinks.kafka_topic import KafkaTopic
from muntin_engine.sinks.pace import pace_of
from muntin_engine.sinks.parquet_folder import ParquetFolder
from muntin_engine.sinks.sink import Sink, SinkLike, WrittenBatch

__all__ = [
    "ChangelogTable",
    "CheckpointCopy",
    "DatabaseTable",
    "DeltaLakeTable",
    "IcebergTable",
    "KafkaTopic",
    "ParquetFolder",
    "Sink",
    "SinkLike",
    "WrittenBatch",
    "choose_sinks",
    "copy_checkpoint",
    "pace_of",
    "spelled_output",
]
