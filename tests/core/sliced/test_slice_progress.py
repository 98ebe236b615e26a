"""A bucket over slices derives its watermark as the general one does, and keeps what it needs for that."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from muntin import EARLIEST, hopping
from muntin.progress import ProgressPolicy, bounded_delay, bounded_disorder, punctuate_every
from muntin_engine.core.changes import Progress
from muntin_engine.core.window_grid import grid_of, settled
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, BucketResult
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from tests.core.progress import histories
from tests.core.progress.histories import clock_of, punctuations, random_history, seen_by_tasks
from tests.core.sliced.build import Feed, Members, Row, answers, blobs_of, expected, sliced

SOURCES = ("a", "b")
WINDOWS = hopping(6, 4)


class TrackedFeed(Feed):
    """A bucket that is told what was observed, and restarted now and then."""

    def __init__(self, policy: ProgressPolicy, random: Random) -> None:
        super().__init__(sliced(WINDOWS, Members()))
        self._policy, self._random = policy, random

    def take(self, rows: Sequence[Row], said: Sequence[histories.Row]) -> BucketResult:
        """Run a batch."""
        marks = [row.time for row in said if row.kind == "punctuate" and row.source is None]
        newest = max((row.tick for row in rows), default=EARLIEST)
        horizon = max((row.tick + 1 for row in rows), default=EARLIEST)
        bucket = ArrayBucket(
            self.query.in_buckets(),
            [ProgressTracker(self._policy, SOURCES, (WINDOWS,))],
            self.cells,
            self.query.codec,
            Compatibility({}),
            self._random.choice([self.kept, KeptStores()]),
            "bucket",
        )
        arrived = Progress(max(marks, default=EARLIEST), horizon, newest, clock_of([said]))
        observed = seen_by_tasks(self._policy, said, self._random)
        found = bucket.process(blobs_of(self.query, rows, self._random), [InputReport(arrived, observed=observed)])
        self.output += answers(self.query, found.outcome.output)
        self.late += found.outcome.late
        return found


@pytest.mark.parametrize(
    "policy",
    [
        bounded_delay(5).with_idle(15),
        bounded_disorder(3).with_idle(15, lag=9),
        punctuate_every(rows=4, delay=2),
    ],
    ids=str,
)
def test_its_windows_close_where_a_look_at_the_whole_history_says(policy: ProgressPolicy) -> None:
    random, late = Random(str(policy)), 0
    for _ in range(60):
        history = random_history(random, SOURCES)
        feed, legal, watermark = TrackedFeed(policy, random), list[Row](), EARLIEST
        grid = feed.query.grids[0]
        for said, then in zip(history, punctuations(policy, SOURCES, history), strict=True):
            rows = [Row((row.source,), row.time, 0) for row in said if row.kind == "insert"]
            first = grid.first_legal(grid.windows.first_open(watermark))
            legal += [row for row in rows if grid.slice_at(row.tick) >= first]
            watermark = settled([grid_of(WINDOWS)], then)
            assert feed.take(rows, said).now.least.watermark == watermark
        assert sorted(feed.output) == expected(WINDOWS, [Members()], legal, watermark)
        late += feed.late
    assert late
