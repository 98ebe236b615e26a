"""A micro-batch of streams in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
