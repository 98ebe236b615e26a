"""Lives of keys: what is kept of a key is bounded by how long it may be silent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from muntin import EmitPolicy, count_by_start, landmark, trailing
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.lives.run import LivesBucket
from muntin_engine.evaluators.general.lives.state import KeyLives
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.core.build import RunningTotal, query, revision, row, spelled, stored_states


class Keys:
    """A bucket that forgets keys after ten ticks, fed batch by batch."""

    def __init__(self, window: WindowKind, age: int | None = 10, **policies: Any) -> None:
        self.query = query(window, RunningTotal(), forget_keys_after=age, **policies)
        self.cells = MemoryCells()
        self._kept = KeptStores()
        self._kind: type[Bucket] = Bucket if age is None else LivesBucket

    def take(self, rows: Iterable[tuple[object, InputChange]], watermark: int) -> BatchResult:
        """Run a batch of rows with their keys."""
        given = list(rows)
        horizon = max([watermark, *(change.start + 1 for _, change in given)])
        bucket = self._kind(self.query, self.cells, Codec(), {}, kept=self._kept, name="keys")
        return bucket.process([((key,), [change]) for key, change in given], Progress(watermark, horizon, horizon - 1))

    @property
    def bytes(self) -> int:
        """The size of the state."""
        return sum(map(len, self.cells.cells.values()))

    @property
    def states(self) -> Sequence[KeyLives]:
        found = stored_states(self.query, self.cells, Codec(), {}, KeyLives)
        assert all(isinstance(state, KeyLives) for state in found)
        return [state for state in found if isinstance(state, KeyLives)]


def test_an_event_at_the_age_is_in_the_life_and_one_a_tick_later_is_not() -> None:
    """Draw the silence of a key.

    time   0         10        20        30
    a      0---------10
    b      0----------11
    """
    keys = Keys(count_by_start(2))
    keys.take([("a", row(None, 0, 1, 1)), ("a", row(None, 10, 11, 2))], 0)
    keys.take([("b", row(None, 0, 1, 1)), ("b", row(None, 11, 12, 2))], 0)
    assert [[life.span for life in state.lives] for state in keys.states] == [[(0, 11)], [(0, 1), (11, 12)]]
    (only,) = spelled(keys.take([], 30))
    assert only.endswith(" [0,11) 3")


def test_a_life_that_joins_two_takes_in_the_events_of_the_later_one() -> None:
    keys = Keys(count_by_start(3), emit=EmitPolicy.EAGER)
    keys.take([("a", row("x", 0, 1, 1)), ("a", row("y", 20, 21, 2))], 0)
    assert [len(state.lives) for state in keys.states] == [2]
    (inserted,) = spelled(keys.take([("a", row("z", 10, 11, 4))], 0))
    assert inserted.endswith("[0,21) 7")
    assert [[life.span for life in state.lives] for state in keys.states] == [[(0, 21)]]
    (retracted,) = spelled(keys.take([("a", revision("z", 10, 11, 10))], 0))
    assert retracted == "-" + inserted[1:]
    assert [[life.span for life in state.lives] for state in keys.states] == [[(0, 1), (20, 21)]]


def test_an_event_that_has_not_ended_keeps_its_key() -> None:
    keys = Keys(count_by_start(2))
    keys.take([("a", row("x", 0, value=1))], 0)
    assert keys.take([], 1000).keys_forgotten == 0
    keys.take([("a", revision("x", 0, None, 1000))], 1000)
    assert keys.take([], 1009).keys_forgotten == 0
    assert keys.take([], 1010).keys_forgotten == 1
    assert keys.states == []


def check_bounded(keys: Keys, each: int, *, has_ids: bool) -> None:
    """Check that fifty batches of keys that come once leave no more behind than ten do."""
    sizes, forgotten = list[int](), 0
    for batch in range(50):
        at = 10 * batch
        rows = [(each * batch + number, row(number if has_ids else None, at, at + 1, 1)) for number in range(each)]
        forgotten += keys.take(rows, at).keys_forgotten
        sizes.append(keys.bytes)
    assert max(sizes[25:]) <= 1.1 * max(sizes[:25])
    assert forgotten >= 45 * each
    forgotten += keys.take([], 10_000).keys_forgotten
    assert forgotten == 50 * each
    assert keys.states == []


@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", [landmark(10), count_by_start(3, every=3), trailing(5, every=2)])
def test_keys_that_come_once_leave_a_state_that_does_not_grow(
    window: WindowKind, emit: EmitPolicy, *, has_ids: bool
) -> None:
    check_bounded(Keys(window, emit=emit, has_ids=has_ids), 20, has_ids=has_ids)


def test_four_thousand_keys_leave_nothing() -> None:
    check_bounded(Keys(count_by_start(3, every=3), has_ids=False), 80, has_ids=False)


def test_without_an_age_they_stay() -> None:
    keys = Keys(count_by_start(3, every=3), age=None)
    for batch in range(20):
        keys.take([(50 * batch + number, row(None, 10 * batch, 10 * batch + 1)) for number in range(50)], 10 * batch)
    assert len(stored_states(keys.query, keys.cells, Codec(), {})) == 1000


@pytest.mark.parametrize("emit", EmitPolicy)
def test_a_key_that_is_silent_again_and_again_has_a_state_that_does_not_grow(emit: EmitPolicy) -> None:
    keys, forgotten = Keys(landmark(10), emit=emit, has_ids=False), 0
    for batch in range(300):
        at = 40 * batch
        result = keys.take([("hot", row(None, at + place, at + place + 1, 1)) for place in range(0, 15, 3)], at)
        forgotten += result.keys_forgotten
        assert result.held.events <= 10
        assert result.held.windows <= 10
        assert keys.bytes < 6000, "the log of the bucket is merged and rewritten now and then"
    assert forgotten == 299
