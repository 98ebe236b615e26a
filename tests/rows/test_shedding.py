"""ON-21 over row windows: rows that wait and rows in windows count; what is shed was never a row."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY
from muntin.errors import PolicyError
from muntin.rows import RowWindows, batch, elapsed, last, marker
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, OutputChange, Progress
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan import plan_module
from muntin_engine.plan.explanation import topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import MOST_DEAD
from tests.rows.engine import ORDER, plan_of_rows
from tests.rows.modules import Sliding

SETTINGS = settings(max_examples=60, derandomize=True, database=None, deadline=None)
STEPS = st.lists(st.tuples(st.lists(st.integers(0, 25), max_size=10), st.integers(0, 12)), min_size=1, max_size=6)


class Feed:
    """A bucket of row windows, opened anew for each micro-batch; rows are told apart by a number, their order."""

    def __init__(self, windows: RowWindows, most_held: int | None = None, *, sums: bool = False) -> None:
        modules = [plan_module("m", Sliding, {}, [ORDER], lambda place, _: place)] if sums else []
        self.plan = plan_of_rows(windows, *modules, input={"most_held": most_held})
        self.cells = MemoryCells()

    def take(self, rows: list[tuple[int, int]], watermark: int) -> BatchResult:
        query = self.plan.evaluator_query([Meter()])
        bucket = RowsBucket(query, self.cells, Codec(), plan_identity(self.plan))
        changes = [InputChange(None, time, time + 1, (number,)) for time, number in rows]
        horizon = max([EARLIEST, *(time + 1 for time, _ in rows)])
        return bucket.process([(("a",), changes)] if rows else [], Progress(watermark, horizon))


def shed(result: BatchResult) -> Counter[tuple[int, int]]:
    told = (rejection for _, rejection in result.rejections if rejection.is_shed)
    return Counter((rejection.change.start, rejection.change.payload[0]) for rejection in told)


def put_out(result: BatchResult) -> list[OutputChange]:
    return [change for _, changes in result.output for change in changes]


@SETTINGS
@given(STEPS, st.integers(4, 7), st.randoms(use_true_random=False))
def test_what_is_shed_is_what_a_plain_list_of_so_many_sheds(
    steps: list[tuple[list[int], int]], most: int, random: Random
) -> None:
    """The oracle: rows that wait in a list, the last three that were released beside it."""
    feed, other = Feed(last(3).trigger(2), most), Feed(last(3).trigger(2))
    waiting: list[tuple[int, int]] = []
    window: list[tuple[int, int]] = []
    watermark, number = 0, 0
    for times, step in [*steps, ([], INFINITY)]:
        rows = [(max(time, watermark), number + place) for place, time in enumerate(times)]
        number += len(times)
        came = sorted(rows, key=lambda row: (row[0], repr((row[1],))))
        room = max(most - len(waiting) - len(window), 0)
        taken, gone = came[:room], came[room:]
        watermark = min(watermark + step, INFINITY)
        passed = [row for row in sorted(waiting + taken) if row[0] < watermark]
        waiting = [row for row in waiting + taken if row not in passed]
        window = [] if watermark == INFINITY else (window + passed)[-3:]

        result = feed.take(random.sample(rows, len(rows)), watermark)
        assert shed(result) == Counter(gone)
        assert result.accepted + len(gone) == len(rows)
        assert result.held.events == len(waiting) + len(window) <= most
        assert put_out(result) == put_out(other.take(taken, watermark)), "as if they had never been"


def test_a_hot_key_is_bounded_while_the_watermark_stands_still() -> None:
    feed, unguarded, sizes = Feed(last(10), 100), Feed(last(10)), list[int]()
    for number in range(20):
        rows = [(5 + at % 50, number * 1000 + at) for at in range(300)]
        result, other = feed.take(rows, 0), unguarded.take(rows, 0)
        sizes.append(result.held.bytes)
        assert result.held.events == 100
    assert max(sizes) <= 2 * sizes[0] + MOST_DEAD, "what a log may be of one state of that size"
    assert max(sizes) < other.held.bytes / 5
    assert len(put_out(feed.take([], 100))) == 100
    assert not shed(feed.take([(200, 1)], 100))


def test_a_window_by_time_makes_room_as_time_passes() -> None:
    feed = Feed(last(elapsed(10)), 2)
    feed.take([(1, 1), (2, 2)], 5)
    assert shed(feed.take([(6, 3)], 7)) == {(6, 3): 1}
    feed.take([], 12)
    assert not shed(feed.take([(13, 4)], 14))


def test_rows_that_states_have_taken_in_are_not_held() -> None:
    feed = Feed(batch(1000), 5, sums=True)
    for at in range(10):
        assert not shed(feed.take([(at, at) for _ in range(5)], at + 1))


@pytest.mark.parametrize(("windows", "least"), [(last(3), 4), (batch(3), 3)], ids=str)
def test_a_limit_that_no_row_could_ever_pass_is_refused(windows: RowWindows, least: int) -> None:
    assert Feed(windows, least).plan.input.most_held == least
    with pytest.raises(
        PolicyError, match=rf"needs room for {least} events of a key.*\n  give most_held={least} at least"
    ):
        Feed(windows, least - 1)


@pytest.mark.parametrize(
    ("windows", "may_stay_full"),
    [
        (last(3), False),
        (last(elapsed(5)), False),
        (batch(3), False),
        (last(3).partition("p"), True),
        (last(3).partition("p", age=5), False),
        (batch(marker("m")), True),
    ],
    ids=str,
)
def test_it_is_explained_where_a_full_key_may_stay_full(windows: RowWindows, may_stay_full: bool) -> None:
    told = dict(topics_of(Feed(windows, 9_000).plan))["shedding"]
    assert told.startswith("a key that holds 9,000 rows takes no new ones until some leave")
    assert told.endswith("; rows leave when others come: a full key may stay full") == may_stay_full
