"""Blobs of what a task returns: rows of its outputs, and values of its metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

RESULTS: Final = "results"
LATE: Final = "late"
SHED: Final = "shed"
REJECTED: Final = "rejected"
EVICTED: Final = "evicted"
ACCEPTED: Final = "accepted"
WATERMARK: Final = "watermark"
OUTPUT_WATERMARK: Final = "output_watermark"

LATE_ROWS: Final = "late_rows"
REJECTED_ROWS: Final = "rejected_rows"
EVICTED_ROWS: Final = "evicted_rows"

STREAMS: Final[Mapping[str, tuple[str, ...]]] = {
    RESULTS: (RESULTS,),
    LATE_ROWS: (LATE, SHED),
    REJECTED_ROWS: (REJECTED,),
    EVICTED_ROWS: (EVICTED,),
}
"""The streams of the blobs of each output: rows that are shed are counted apart, and come with the late ones."""


@dataclass(frozen=True, slots=True)
class OutputBlob:
    """A part of a bucket's output.

    Attributes:
        stream: `results`, `late`, `shed`, `rejected` or `evicted`; or the name of a metric.
        rows: The number of its rows; or the value of the metric.
        data: The rows as an Arrow IPC stream; None for a value alone.
        totals: All metrics of the bucket, by name; None for what is one stream.
    """

    stream: str
    rows: int
    data: bytes | None = None
    totals: Mapping[str, int] | None = None


def with_totals(found: Iterable[OutputBlob]) -> Iterator[OutputBlob]:
    """Yield the blobs with rows and the watermarks of what `run_bucket` found, and then one with all metrics.

    So Spark gets one row of a bucket for all metrics, however many there are.
    """
    totals = Counter[str]()
    for blob in found:
        totals[blob.stream] += blob.rows
        if blob.data is not None or blob.stream in (WATERMARK, OUTPUT_WATERMARK):
            yield blob
    yield OutputBlob("totals", 0, totals=dict(totals))
