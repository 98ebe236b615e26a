"""Rows that Muntin itself makes when a query reads them: of a stream, or of the results of another query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from muntin_engine.backends.local.local_query import BucketOutput


@dataclass
class MicroBatch:
    """The rows of a micro-batch of streams, and what queries make of them for others.

    Attributes:
        rows: The rows of each stream, by its name.
        passed_on: The output of queries whose results others read, by their `place_name`; it is there once the query
            has run.
    """

    rows: Mapping[str, pa.Table]
    passed_on: dict[str, Sequence[BucketOutput]] = field(default_factory=dict)


class ComputedRows(ABC):
    """Rows that are made when a query reads them.

    Attributes:
        arrow_schema: Their columns.
        micro_batch: The micro-batch of a stream that they are of; None if they are made from a table, which ends.
        computed_from: The table that they are made from, whose kind results have; None for a stream.
    """

    arrow_schema: pa.Schema
    micro_batch: MicroBatch | None
    computed_from: Any

    @abstractmethod
    def table(self) -> pa.Table:
        """Make the rows."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data."""
        return self.table().__arrow_c_stream__(requested_schema)
