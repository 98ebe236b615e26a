"""The request to write queries to sinks, as it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from muntin_engine.backends.planned_query import PlannedQuery

if TYPE_CHECKING:
    from muntin import Duration


@dataclass(frozen=True)
class WrittenOutputs:
    """Queries, and the sinks of their outputs.

    Attributes:
        queries: The queries by name; the name of one that is written alone is empty.
        sinks: By the name of a query and by output, what was given as its sink, unchecked; None where nothing was.
    """

    queries: Mapping[str, PlannedQuery]
    sinks: Mapping[str, Mapping[str, object]]

    @property
    def first_query(self) -> PlannedQuery:
        """The first query. All have its session, and read the same input."""
        return next(iter(self.queries.values()))


@dataclass(frozen=True)
class WriteRequest:
    """The arguments of `Query.write` and `OnePass.write`.

    Attributes:
        outputs: The queries and their sinks.
        checkpoint: The place of the checkpoint; None if none was given.
        every: The time between micro-batches; None to begin one as soon as the last has ended.
        available_now: True to stop when all that is there has been read.
        on_end: The name of what happens to open windows when the query ends.
        name: The name of the streaming query; None if none was given.
        record: The place of the recording, or one by the name of each query; None to record nothing.
    """

    outputs: WrittenOutputs
    checkpoint: str | PathLike[str] | None
    every: Duration | None
    available_now: bool
    on_end: str
    name: str | None
    record: object
