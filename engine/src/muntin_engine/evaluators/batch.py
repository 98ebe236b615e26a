"""A micro-batch of a bucket: what it brings, and what an evaluator made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin_engine.core.changes import InputChange, Progress, Refusal
from muntin_engine.core.keys import Key
from muntin_engine.progress import Observation


@dataclass(frozen=True, slots=True)
class BucketBatch:
    """What a micro-batch brings a bucket.

    Attributes:
        changes: The good rows by key, unless they were lifted.
        partials: Blobs of partial states, if rows are lifted.
        progress: What the micro-batch says of the progress of the whole input.
        observed: What the tasks of the map side have seen of each source.
        key_watermarks: The watermarks of single keys.
        signals: The names of the external events that it brings.
    """

    changes: Sequence[tuple[Key, Sequence[InputChange]]]
    partials: Sequence[bytes]
    progress: Progress
    observed: Sequence[Observation] = ()
    key_watermarks: Sequence[tuple[Key, int]] = ()
    signals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an evaluator made of a micro-batch.

    Attributes:
        tables: Yields the results as tables of the query's result schema, once.
        accepted: How many rows took effect.
        output_watermark: No later output of the bucket has a sync time below it.
        metrics: Values of the metrics that the evaluator reports, by name.
        refusals: The rows that were rejected, or late, by key.
        late: How many more were late, where rows are not kept.
    """

    tables: Iterator[pa.Table]
    accepted: int
    output_watermark: int
    metrics: Mapping[str, int]
    refusals: Sequence[tuple[Key, Refusal]] = field(default_factory=tuple)
    late: int = 0
