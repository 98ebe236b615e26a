"""The contract of a backend with sinks: work on rows where the backend has them, without moving them to the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from muntin_engine.backend_modules import backend_module

if TYPE_CHECKING:
    from muntin_engine.plan.request import Frame


class Changelogs(ABC):
    """Adds up changelogs: results with a column `change`, which may be retracted.

    The argument `key` names the key columns. It is None if the changelog has their names in the metadata of a column.
    """

    @abstractmethod
    def fold(self, changelog: Frame, key: str | Sequence[str] | None) -> Frame:
        """Add up a whole changelog to a table; see `muntin_engine.fold`.

        Raises:
            QueryError: A column is missing, the keys are not known, or the changelog is a stream.
        """

    @abstractmethod
    def net_changes(self, batch: Frame, key: str | Sequence[str] | None) -> Frame:
        """Return the net changes of a micro-batch to a keyed table; see `muntin_engine.net_changes`.

        Raises:
            QueryError: A column is missing, or the keys are not known.
        """

    @abstractmethod
    def final_rows(self, results: Frame, watermark: int | None, key: str | Sequence[str] | None) -> Frame:
        """Return the rows of results that no later micro-batch changes; see `muntin_engine.final_rows`.

        Raises:
            QueryError: A column is missing, the keys are not known, the results are a stream, or the rows have no
                lifetime.
        """

    @abstractmethod
    def live_rows(self, changelog: Frame, key: str | Sequence[str] | None, table: Frame | None = None) -> Frame:
        """Apply changes to a table of live rows, each with its id.

        Args:
            changelog: The changes.
            key: The key columns.
            table: The live rows before these changes, as this method returned them; None if there are none.

        Raises:
            QueryError: A column is missing, or the keys are not known.
        """

    @abstractmethod
    def settled_rows(self, table: Frame, watermark: int | None, *, is_revisable: bool) -> Frame:
        """Return the live rows that no later micro-batch changes.

        Args:
            table: The live rows.
            watermark: The tick before which nothing changes; None if it is not known.
            is_revisable: True if lifetimes may get other ends.

        Raises:
            QueryError: The rows have no lifetime.
        """


class KafkaConnector(ABC):
    """Sends the rows of micro-batches to Kafka from where they are."""

    @abstractmethod
    def send(
        self,
        batch: Frame,
        keys: Sequence[str],
        *,
        query_id: str,
        batch_id: int,
        servers: str,
        topic: str,
        options: Mapping[str, str],
    ) -> None:
        """Send the rows of a micro-batch, and wait until all are acknowledged.

        Args:
            batch: The rows.
            keys: The names of the key columns.
            query_id: The id of the query, which is part of the ids of rows.
            batch_id: The number of the micro-batch.
            servers: The addresses of the brokers.
            topic: The topic.
            options: Options of the client.
        """


class DistributedRows(ABC):
    """The part of a backend that sinks call.

    Attributes:
        changelogs: Adds up results.
    """

    changelogs: ClassVar[Changelogs]

    def kafka_connector(self, batch: Frame) -> KafkaConnector | None:  # for backends that have one
        """Return the connector that sends the rows of a micro-batch to Kafka; None if the driver has to send them."""
        return None


def changelogs_of(rows: object) -> Changelogs:
    """Return the part of a backend that adds up changelogs, given rows of the backend's type."""
    backend = backend_of_rows(rows)
    assert backend is not None, "rows on the driver are added up there: see `net_changes_on_driver`"
    return backend.changelogs


def backend_of_rows(rows: object) -> DistributedRows | None:
    """Return the backend of rows, found by their type; None for rows on the driver, such as Arrow tables."""
    module = backend_module(type(rows))
    if module is None:
        return None
    backend: DistributedRows = module.BACKEND
    return backend
