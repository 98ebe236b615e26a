"""Scripts whose punctuation is of some keys alone: one, part of a composite one, or those in a range."""

from __future__ import annotations

import math
from collections.abc import Hashable

import pytest

from muntin import INFINITY, tumbling
from muntin.errors import StreamError
from muntin.rows import elapsed, last
from muntin.testing import Batch, Computation, KeyPunctuation, KeyRange, Script, WindowedQuery
from muntin.testing.batches import matches
from muntin_engine.testing import shuffle, split
from tests.sdk.query_modules import Names

EU: Hashable = ("eu", ...)
TENS: Hashable = (..., KeyRange(10, 20))
NAMES = WindowedQuery(tumbling(10), [Computation(Names())])


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [
        (("eu", 12), [("eu", 12)]),
        (("eu", ...), [("eu", 12), ("eu", 20), ("eu", None)]),
        ((..., KeyRange(12, 20)), [("eu", 12), ("us", 12)]),
        ((KeyRange("f"), KeyRange(None, 20)), [("us", 12)]),
        ((..., KeyRange()), [("eu", 12), ("eu", 20), ("us", 12)]),
        ((..., None), [("eu", None)]),
        (("eu",), []),
    ],
)
def test_a_pattern_stands_for_the_keys_that_each_of_its_parts_allows(pattern: Hashable, keys: list[Hashable]) -> None:
    known: list[Hashable] = [("eu", 12), ("eu", 20), ("eu", None), ("us", 12)]
    assert [key for key in known if matches(pattern, key)] == keys


def test_nan_is_one_key_and_above_all_numbers() -> None:
    assert matches(math.nan, math.nan)
    assert matches(KeyRange(5.0), math.nan)
    assert not matches(KeyRange(5.0, 1e300), math.nan)


#             1      8   12
# eu 1  a     [)               complete up to 10
# us 1  b     [)               not yet
# eu 1  c                [)
def test_windows_of_the_keys_that_a_pattern_stands_for_close() -> None:
    script = Script().point("a", 1, "a", key=("eu", 1)).point("b", 1, "b", key=("us", 1)).punctuate(10, key=EU)
    assert [row.value for row in script.run(NAMES)["eu", 1]] == [("a",)]
    assert ("us", 1) not in script.run(NAMES)
    assert script.point("c", 12, "c", key=("eu", 1)).close().run(NAMES).keys() == {("eu", 1), ("us", 1)}


def test_the_watermark_of_a_key_is_the_highest_punctuation_that_holds_for_it() -> None:
    script = Script().punctuate(3).punctuate(10, key=EU).punctuate(8, key=TENS).punctuate(20, key=("eu", 5))
    keys: list[Hashable] = [("eu", 5), ("eu", 15), ("us", 15), ("us", 5)]
    assert [script.watermark_of(key) for key in keys] == [20, 10, 8, 3]
    assert script.last_watermark() == 3
    assert script.horizon(tumbling(10)) == 20


def test_a_change_of_such_a_key_behind_it_is_illegal_and_one_of_another_key_is_not() -> None:
    script = Script().punctuate(10, key=EU).point("b", 9, key=("us", 1))
    with pytest.raises(StreamError, match="has the sync time 9, below the watermark 10"):
        script.point("a", 9, key=("eu", 1))
    late = Script(script.steps, allow_illegal=True).point("a", 9, key=("eu", 1))
    assert [step.change.id for step in late.changes() if step in late.illegal()] == ["a"]


def test_a_change_that_waits_for_another_one_stops_when_its_key_is_punctuated() -> None:
    revised = Script().insert("a", 1, 8, key=("us", 1)).insert("a", 1, 8, key=("eu", 1)).revise("a", 5, key=("eu", 1))
    waiting = Script(tuple(revised.steps[i] for i in (0, 2)))
    assert waiting.punctuate(10, key=("us", ...)).history().keys() == {("us", 1)}
    with pytest.raises(StreamError, match="expects"):
        waiting.punctuate(10, key=EU)


def test_the_watermark_of_a_pattern_does_not_go_back() -> None:
    with pytest.raises(StreamError, match=r"the watermark of \('eu', ...\) goes back from 10 to 9"):
        Script().punctuate(10, key=EU).punctuate(9, key=EU)


def test_a_batch_has_the_punctuation_of_keys_and_ends_before_a_change_that_it_forbids() -> None:
    script = Script(allow_illegal=True).punctuate(10, key=EU).point("b", 9, key=("us", 1)).point("a", 9, key=("eu", 1))
    b, a = script.changes()
    assert list(script.batches()) == [Batch((b,), of_keys=(KeyPunctuation(EU, 10),)), Batch((a,))]


#            1    30
# eu 1  a    [-------   open; the key is closed in the first micro-batch
# us 1  b         [)    comes in the second
def test_a_key_that_is_closed_hears_nothing_of_what_comes_later() -> None:
    script = Script().edge("a", 1, "a", key=("eu", 1)).punctuate(INFINITY, key=EU)
    later = script.batch().point("b", 30, "b", key=("us", 1)).close()
    together = script.point("b", 30, "b", key=("us", 1)).close()
    assert [row.start for row in later.run(NAMES)["eu", 1]] == [0]
    assert [row.start for row in together.run(NAMES)["eu", 1]] == [0, 10, 20, 30]


def test_row_windows_of_a_key_that_is_closed_end_with_its_own_rows() -> None:
    script = Script().point("a", 1, "a", key=("eu", 1)).point("b", 40, "b", key=("us", 1))
    query = WindowedQuery(last(3).trigger(elapsed(5)), [Computation(Names())])
    (row,) = script.punctuate(INFINITY, key=EU).run(query)["eu", 1]
    assert (row.start, row.end, row.value) == (1, 5, ("a",))


def test_a_shuffled_stream_keeps_what_punctuation_of_keys_allows() -> None:
    script = Script().point("b", 15, key=("us", 1))
    for place in range(20):
        script = script.point(place, place, key=("eu", place % 3)).punctuate(place, key=("eu", place % 3))
    orders = set()
    for seed in range(10):
        shuffled = split(shuffle(script, seed), seed)  # an illegal order raises
        assert shuffled.history() == script.history()
        orders.add(shuffled.steps)
    assert len(orders) > 1


def test_punctuation_of_keys_is_drawn_with_its_pattern() -> None:
    script = Script().point("a", 1, key=("eu", 1)).punctuate(4, key=(..., KeyRange(0, 9))).punctuate(INFINITY, key=EU)
    assert str(script).splitlines() == [
        "                 1",
        "+ ('eu', 1) 'a'  [)      None",
        "punctuation         !    4 of (..., KeyRange(0, 9))",
        "('eu', ...) is closed",
    ]
