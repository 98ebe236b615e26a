"""Which key a row belongs to: equal as in Spark's grouping, null a key like any other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from muntin import tumbling
from tests.core.build import Feed, query, row, spelled

OTHER_NAN = math.nan * -1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (math.nan, OTHER_NAN),
        ([0.0, 1.0], [-0.0, 1.0]),
        ({"a": math.nan, "b": None}, {"a": OTHER_NAN, "b": None}),
        ({"a": {"b": [-0.0]}}, {"a": {"b": [0.0]}}),
    ],
    ids=repr,
)
def test_keys_that_spark_groups_together_are_one_key(one: Any, other: Any) -> None:
    feed = Feed(query(tumbling(10)))
    feed.batches([((one,), [row("a", 1, 2, 5)]), ((other,), [row("b", 3, 4, 7)])])
    feed.batch(row("c", 5, 6, 9), key=other)
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,10) (5, 7, 9)"]


@pytest.mark.parametrize(
    "keys", [(None, "None", 0, ""), (1, 2, 3), ([1], [1, 1]), ({"a": 1}, {"a": 2}, {"b": 1}, None)]
)
def test_different_keys_stay_apart(keys: tuple[Any, ...]) -> None:
    feed = Feed(query(tumbling(10)))
    feed.batches([((key,), [row("a", 1, 2, place)]) for place, key in enumerate(keys)])
    result = feed.batch(watermark=10)
    assert sorted(change.value for _, (change,) in result.output) == [((place,),) for place in range(len(keys))]
    assert sorted(map(repr, (key for (key,), _ in result.output))) == sorted(map(repr, keys))


def test_a_query_without_keys_has_one_key() -> None:
    feed = Feed(query(tumbling(10)))
    feed.batches([((), [row("a", 1, 2, 5)])])
    assert feed.batch(watermark=10).output[0][0] == ()
