"""Counting by the clock: the engine's general evaluator, with a clock that a test reads to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from muntin import EARLIEST, EarlyEmission, tumbling
from muntin.policies import ClipPolicy, TimestampPolicy
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_stats import Count
from tests.nexmark.answers import Rows
from tests.nexmark.bids import Bid

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
    bucket, rows = Bucket(query, MemoryCells(), Codec(), {}), Counter[tuple[Any, ...]]()
    for clock, bid in [*arrivals, (until, None)]:
        read = Progress(clock=clock * MICROSECONDS)
        came = [] if bid is None else [((bid.bidder,), [InputChange(None, bid.at, bid.at + 1, (bid.auction,), None)])]
        for batch, arrived in (([], read), (came, Progress(EARLIEST, until + 1, until, clock * MICROSECONDS))):
            for (bidder,), changes in bucket.process(batch, arrived).output:
                rows.update((bidder, change.value[0]) for change in changes)
    return rows
