"""Early results by the clock and by counts: the engine's general evaluator, at the hands of a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from muntin import EARLIEST, EarlyEmission, Module, Refinement, tumbling
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin.testing import Script
from muntin.triggers import every_count
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_stats import Count
from tests.nexmark.answers import Rows
from tests.nexmark.site import Bid

MICROSECONDS = 1_000
"""In a tick, for the clock."""


def counts_by_clock(emit: EarlyEmission, arrivals: Sequence[tuple[int, Bid]], until: int) -> Rows:
    """Return (bidder, bids) of each result that a trigger fires before the clock is at the end.

    Args:
        emit: Early results under a trigger that waits for a clock.
        arrivals: The bids in order of arrival, with the clock at their arrival.
        until: The last reading of the clock.
    """
    query = EvaluatorQuery(
        tumbling(2**40),
        (Binding(Count(), lambda row: row[0]),),
        ClipPolicy.NONE,
        TimestampPolicy.ALIGN,
        emit,
        has_ids=False,
    )
    bucket, rows = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {}), Counter[tuple[Any, ...]]()
    for clock, bid in [*arrivals, (until, None)]:
        read = Progress(clock=clock * MICROSECONDS)
        came = [] if bid is None else [((bid.bidder,), [InputChange(None, bid.at, bid.at + 1, (bid.auction,), None)])]
        for batch, arrived in (([], read), (came, Progress(EARLIEST, until + 1, until, clock * MICROSECONDS))):
            for (bidder,), changes in bucket.process(batch, arrived).output:
                rows.update((bidder, change.value[0]) for change in changes)
    return rows


def logged(
    log: Module, bids: Script, size: int, shard: Callable[[Bid], int], most: int
) -> dict[tuple[int, int, int], list[Bid]]:
    """Return what is in each file of a log: its window, its shard and its number, and the bids (query 10).

    Args:
        log: Returns the rows of a window.
        bids: As they arrive, with watermarks.
        size: Of the windows.
        shard: Returns the number of a bid's shard.
        most: How many bids of a window and shard end a file, at the latest when the window closes.
    """
    emit = EarlyEmission(every_count(most), Refinement.DISCARD)
    query = EvaluatorQuery(
        tumbling(size), (Binding(log, Bid._make),), ClipPolicy.NONE, TimestampPolicy.ALIGN, emit, has_ids=False
    )
    bucket, files = (
        KeyedBucket(GeneralRun, query, MemoryCells(), Codec([Bid]), {}),
        dict[tuple[int, int, int], list[Bid]](),
    )
    for batch in bids.batches():
        came = [step.change.event.payload for step in batch.changes]
        rows = [((shard(bid),), [InputChange(None, bid.at, bid.at + 1, tuple(bid), None)]) for bid in came]
        watermark = EARLIEST if batch.punctuation is None else batch.punctuation
        newest = max((bid.at for bid in came), default=EARLIEST)
        for (of_shard,), changes in bucket.process(rows, Progress(watermark, newest + 1, newest)).output:
            for change in changes:
                files.setdefault((change.window.start, of_shard, change.firing), []).append(change.value)
    return files
