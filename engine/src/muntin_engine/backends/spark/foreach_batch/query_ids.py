"""Spark's id of a query, for sinks that must know whose micro-batches they get.

They are called in the process that started the query, or on a Spark Connect server.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.session.kinds import AnySession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class QueryId(Protocol):
    """The id of a query, stable across restarts."""

    def of(self, spark: AnySession) -> str:
        """Return the id.

        Args:
            spark: The session of a micro-batch: this is called inside of `foreachBatch`.
        """
        ...


class StartedQuery:
    """The id of a query that this process starts.

    Spark may run the first micro-batch, in another thread, before `start` returns the query and with it the id.
    """

    def __init__(self) -> None:
        self._id: Future[str] = Future()

    def set_id(self, query_id: str) -> None:
        """Set the id, for which the first micro-batch may be waiting."""
        self._id.set_result(query_id)

    def of(self, spark: AnySession) -> str:
        """Wait until the id is known, and return it."""
        return self._id.result()


@dataclass(frozen=True)
class StoredQueryId:
    """The id that Spark keeps in a checkpoint, for a process that did not start the query.

    Attributes:
        checkpoint: The path of the checkpoint.
    """

    checkpoint: str

    def of(self, spark: AnySession) -> str:
        """Read the id, which Spark writes before the first micro-batch begins."""
        return Checkpoint(cast("SparkSession", spark), self.checkpoint).query_id
