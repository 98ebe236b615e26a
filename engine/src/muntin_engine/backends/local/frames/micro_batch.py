"""A micro-batch of streams in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from muntin_engine.tasks.output_blobs import OutputBlob


class BucketOutput(NamedTuple):
    """A part of the output of a bucket.

    Attributes:
        bucket: The id of the bucket; that of the first one for a query without buckets.
        blob: The part.
    """

    bucket: int
    blob: OutputBlob


@dataclass
class MicroBatch:
    """A micro-batch of the streams of a query, and the output of its queries that others of them read.

    Attributes:
        passed_on: The output of queries whose results others read, by their `inner_id`; it is there once the query
            has run.
    """

    passed_on: dict[str, Sequence[BucketOutput]] = field(default_factory=dict)
