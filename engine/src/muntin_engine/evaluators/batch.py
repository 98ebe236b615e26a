"""A micro-batch of a bucket: what it brings, and what an evaluator made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from muntin_engine.state.bucket_state import BucketMetadata
from muntin_engine.time.changes import InputChange, Key, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.input_report import InputReport

if TYPE_CHECKING:
    import pyarrow as pa


class BucketBlob(NamedTuple):
    """The partial states for one bucket.

    Attributes:
        bucket: Its number.
        blob: They, as bytes.
    """

    bucket: int
    blob: bytes


@dataclass(frozen=True, slots=True)
class BucketBatch:
    """The part of a micro-batch that a bucket gets.

    Attributes:
        changes: The good rows by key, of all inputs, unless they were lifted; iterated once.
        evaluator_blobs: Blobs of partial states, if rows are lifted.
        reports: The report on each input.
        signals: The names of the external events that it brings.
    """

    changes: Iterable[tuple[Key, Sequence[InputChange]]]
    evaluator_blobs: Sequence[bytes]
    reports: Sequence[InputReport]
    signals: frozenset[str] = frozenset()


def advance(
    metadata: BucketMetadata, trackers: Sequence[ProgressTracker], reports: Sequence[InputReport]
) -> tuple[InputsProgress, InputsProgress]:
    """Return the progress of the inputs before a micro-batch, by which rows are late, and after it.

    The metadata of the bucket then have that after it.
    """
    before = InputsProgress.from_data(metadata.tracked) if metadata.tracked else InputsProgress.start(len(trackers))
    arrived, observed = [report.arrived for report in reports], [report.observed for report in reports]
    now = before.advance(trackers, arrived, observed)
    metadata.tracked = now.to_data()
    return before, now


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The output of an evaluator for a micro-batch.

    Attributes:
        tables: The results as tables of the query's result schema; iterated once.
        accepted: The number of rows that took effect.
        output_watermark: No later output of the bucket changes anything before it.
        progress: The progress of all inputs together, after the micro-batch.
        metrics: Values of the metrics that the evaluator reports, by name.
        rejections: The rows that were rejected, or late, by key.
        late: The number of further late rows, where rows are not kept.
        late_by: The largest distance of one of these behind the watermark; 0 if there are none.
        evicted: The second output, as tables of its schema; iterated once.
        inputs: The progress of each input.
    """

    tables: Iterable[pa.Table]
    accepted: int
    output_watermark: int
    progress: Progress
    metrics: Mapping[str, int]
    rejections: Sequence[tuple[Key, Rejection]] = field(default_factory=tuple)
    late: int = 0
    late_by: int = 0
    evicted: Iterable[pa.Table] = ()
    inputs: InputsProgress | None = None
