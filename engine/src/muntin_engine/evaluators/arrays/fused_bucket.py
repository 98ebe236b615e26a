"""A bucket of keys, evaluated by sessions: rows in, results of whole sessions out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket, SliceResult
from muntin_engine.state.log import StateLog


class FusedBucket(SliceBucket):
    """Evaluates final results of sessions for many keys.

    A row is late if it lies before the watermark of the batches before its own. A session is complete when the
    watermark is past its end: an event at the end would still belong to it.

    Cost: that of a bucket over slices, and a sort of the open sessions for each batch that brings rows or moves the
    watermark. What a batch brought stays in the log until a log of garbage is written anew, or no session is left
    that began before its end.
    """

    def output_watermark(self, result: SliceResult, *, at_end: bool) -> int:
        """Return the watermark, or the least start of an open session; points at ends lie at the watermark or later."""
        watermark = result.progress.watermark
        return watermark if at_end or watermark == INFINITY else min(watermark, result.first_open)

    def _opened(self, progress: Progress) -> list[int]:
        return [progress.watermark]

    def _first_legal(self, opened: Sequence[int]) -> int:
        return opened[0]

    def _first_live(self, opened: Sequence[int]) -> int:
        return opened[0]

    def _close(self, store: Any, before: Sequence[int], after: Sequence[int], horizon: int) -> Iterator[Closed]:
        del horizon
        yield from store.close(0, before[0], after[0])

    def _first_open(self, store: Any) -> int:
        return int(store.first_start)

    def _append(self, log: StateLog, store: Any, delta: Any, opened: Sequence[int]) -> None:
        log.forget(store.first_start)
        if delta is not None:
            log.append(store.write(delta, EARLIEST))
        log.tidy(store, store.nbytes, store.write_whole)
