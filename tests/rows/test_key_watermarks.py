"""Row windows of keys that punctuate themselves: each key has come as far as its own watermark, whatever the input."""

from __future__ import annotations

import pytest
from hypothesis import settings

from muntin import INFINITY, Window
from muntin.rows import PartitionedRows, batch, elapsed, last
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.engine import Given, payload_of, plan_of_rows
from tests.rows.tracing import Computed

SETTINGS = settings(max_examples=60, derandomize=True, database=None, deadline=None)


class Keys:
    """Some keys of a query, each with what it computed so far; every micro-batch starts from the state in cells."""

    def __init__(self, windows: PartitionedRows) -> None:
        self.windows = windows
        self.plan: Plan = plan_of_rows(windows)
        self.cells, self.found = MemoryCells(), dict[str, list[Computed]]()
        self.horizon = -(2**63)

    def take(
        self, rows: list[Given], watermark: int, *, as_patterns: bool = False, **key_watermarks: int
    ) -> BatchResult:
        query = self.plan.evaluator_query([Meter()])
        bucket = RowsBucket(query, self.cells, Codec(), plan_identity(self.plan))
        changes = [
            ((row.key,), [InputChange(None, row.time, row.time + 1, payload_of(self.windows, row))]) for row in rows
        ]
        self.horizon = max([self.horizon, watermark, *(row.time + 1 for row in rows)])
        now, said = Progress(watermark, self.horizon), [((key,), tick) for key, tick in key_watermarks.items()]
        if as_patterns:  # of one column: the key, or those from it to itself and one letter more
            told = [([(key, key + "a") if tick % 2 else (key,)], tick) for (key,), tick in said]
            result = bucket.process(changes, now, patterns=told)
        else:
            result = bucket.process(changes, now, key_watermarks=said)
        assert result.accepted + len(result.rejections) == len(rows)
        for (key,), output in result.output:
            for change in output:
                partition = change.partition if self.windows.partition_by else 0
                self.found.setdefault(key, []).append(Computed(change.window, partition, tuple(change.value[0])))
        return result


def test_a_key_that_is_ahead_is_computed_and_the_other_waits() -> None:
    """Rows of a and b at 1 and 4; a has come to 12, the input to 2.

    time   1  4     10 12
    a      [--------)       flushed by time, though the input is at 2
    """
    keys = Keys(batch(elapsed(10)))
    rows = [Given(key, time, time) for key in ("a", "b") for time in (1, 4)]
    result = keys.take(rows, 2, a=12)
    assert keys.found == {"a": [Computed(Window(0, 10), 0, (1, 4))]}
    assert result.watermark == 0  # b still computes the same window
    assert [rejection.reason for _, rejection in keys.take([Given("a", 11, 5)], 2).rejections] == ["late"]
    assert keys.take([], 10).watermark == 10
    assert keys.found["b"] == keys.found["a"]


def test_a_key_that_is_done_is_closed_and_the_other_goes_on() -> None:
    """a ends after its row at 1: a batch that is not full is flushed. b gets the second row of its own."""
    keys = Keys(batch(2))
    keys.take([Given("a", 1, 1), Given("b", 1, 2)], 0, a=INFINITY)
    assert keys.found == {"a": [Computed(Window(1, 2), 0, (1,))]}
    keys.take([Given("b", 3, 3)], 9)
    assert keys.found["b"] == [Computed(Window(1, 4), 0, (2, 3))]
    assert [rejection.reason for _, rejection in keys.take([Given("a", 20, 4)], 9).rejections] == ["late"]


@pytest.mark.parametrize("as_patterns", [True, False])
@pytest.mark.parametrize("is_together", [True, False])
def test_a_key_that_is_done_ends_with_its_own_rows_whatever_comes_of_other_keys(
    is_together: bool, as_patterns: bool
) -> None:
    """a is done after its row at 1; b has one at 40, in the same micro-batch or the next.

    time   1            40
    a      [)
    b                   [)
    """
    for windows, wanted in (
        (batch(2), [Computed(Window(1, 2), 0, (1,))]),
        (last(3).trigger(elapsed(5)), [Computed(Window(1, 5), 0, (1,))]),
    ):
        keys, rows = Keys(windows), [[Given("a", 1, 1)], [Given("b", 40, 2)]]
        keys.take(rows[0] + rows[1] * is_together, 0, as_patterns=as_patterns, a=INFINITY)
        keys.take(rows[1] * (not is_together), 0)
        assert keys.found == {"a": wanted}


def test_windows_by_number_follow_the_rows_that_the_keys_own_watermark_has_passed() -> None:
    keys = Keys(last(2))
    keys.take([Given("a", time, time) for time in (1, 3, 5)], 0, a=4)
    assert [one.rows for one in keys.found["a"]] == [(1,), (1, 3)]
    keys.take([Given("a", 4, 4)], 0, a=6)
    assert [one.rows for one in keys.found["a"]] == [(1,), (1, 3), (3, 4), (4, 5)]
