"""The output of a query: sinks, and tables that changelogs add up to."""

from muntin_engine.writing.changelog import final_rows, fold, net_changes
from muntin_engine.writing.changelog_table import ChangelogTable
from muntin_engine.writing.checkpoint_copy import CheckpointCopy, copy_checkpoint
from muntin_engine.writing.choosing import choose_sinks, spelled_output
from muntin_engine.writing.database_table import DatabaseTable
from muntin_engine.writing.delta_lake_table import DeltaLakeTable
from muntin_engine.writing.iceberg_table import IcebergTable
from muntin_engine.writing.kafka_topic import KafkaTopic
from muntin_engine.writing.pace import pace_of
from muntin_engine.writing.parquet_folder import ParquetFolder
from muntin_engine.writing.sink import Sink, SinkLike, WrittenBatch

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
    "final_rows",
    "fold",
    "net_changes",
    "pace_of",
    "spelled_output",
]
