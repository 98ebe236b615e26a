"""A micro-batch of streams in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muntin_engine.backends.local.local_query import BucketOutput


@dataclass
class MicroBatch:
    """A micro-batch of the streams of a query, and the output of its queries that others of them read.

    Attributes:
        passed_on: The output of queries whose results others read, by their `place_name`; it is there once the query
            has run.
    """

    passed_on: dict[str, Sequence[BucketOutput]] = field(default_factory=dict)
