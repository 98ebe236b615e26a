"""A micro-batch of a bucket: its rows and reports, and the output of an evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from muntin_engine.state.bucket_state import BucketMetadata
from muntin_engine.time.changes import InputChange, Key, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.shuffle import InputReport

if TYPE_CHECKING:
    import pyarrow as pa


class BucketBlob(NamedTuple):
    """The lifted rows of a map task for one bucket.

    Attributes:
        bucket: The number of the bucket.
        blob: The encoded rows, or partial states.
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


class ProgressStep(NamedTuple):
    """The progress of a bucket's inputs in a micro-batch.

    Attributes:
        previous: The progress before the batch, by which rows are late.
        present: The progress after it.
    """

    previous: InputsProgress
    present: InputsProgress


def advance_progress(
    metadata: BucketMetadata, trackers: Sequence[ProgressTracker], reports: Sequence[InputReport]
) -> ProgressStep:
    """Advance the progress of a bucket's inputs by a micro-batch, in the metadata of the bucket.

    Args:
        metadata: The metadata of the bucket, which gets the progress after the batch.
        trackers: The tracker of the progress of each input.
        reports: The report on each input.
    """
    previous = InputsProgress.start(len(trackers))
    if metadata.progress:
        previous = InputsProgress.from_data(metadata.progress)
    # The horizon lies past the watermarks of single keys too: a key may be further than the whole input.
    reported = [report.progress_past_keys for report in reports]
    observations = [report.observations for report in reports]
    present = previous.advance(trackers, reported, observations)
    metadata.progress = present.to_data()
    return ProgressStep(previous, present)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The output of an evaluator for a micro-batch.

    Attributes:
        tables: The results as tables of the query's result schema; iterated once.
        accepted: The number of rows that took effect.
        output_watermark: No later output of the bucket changes anything before it.
        progress: The progress of all inputs together, after the micro-batch.
        metrics: Values of the evaluator's metrics by name; those that it declares as unreported are left out later.
        rejections: The rows that were rejected, or late, by key.
        late: The number of further late rows, where rows are not kept.
        late_by: The largest distance of any of these late rows behind the watermark; 0 if there are none.
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
