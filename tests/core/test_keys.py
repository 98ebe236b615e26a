"""Which key a row belongs to: equal as in Spark's grouping, null a key like any other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.feed import Members, query

OTHER_NAN = math.nan * -1


def found(*batches: list[tuple[Any, ...]]) -> list[tuple[Any, list[int]]]:
    """Return the key and the members of each window of rows that have keys; their payloads are 0, 1, 2 and so on."""
    process = BY_NAME["general"].in_memory(query(None, Members()).plan("general"), MemoryCells(), Codec())
    numbers, output = iter(range(9)), []
    for keys in (*batches, []):
        rows = [(key, InputChange(number, 1, 2, (number,))) for key, number in zip(keys, numbers, strict=False)]
        output += process.take(rows, Progress(0 if keys else 10, 10, 1))
    return [(key, change.value[0]) for key, change in output]


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
    assert [members for _, members in found([(one,), (other,)], [(other,)])] == [[0, 1, 2]]


@pytest.mark.parametrize(
    "keys", [(None, "None", 0, ""), (1, 2, 3), ([1], [1, 1]), ({"a": 1}, {"a": 2}, {"b": 1}, None)]
)
def test_different_keys_stay_apart(keys: tuple[Any, ...]) -> None:
    rows = found([(key,) for key in keys])
    assert sorted(repr(key) for (key,), _ in rows) == sorted(map(repr, keys))
    assert sorted(members for _, members in rows) == [[place] for place in range(len(keys))]


def test_a_query_without_keys_has_one_key() -> None:
    assert found([(), ()]) == [((), [0, 1])]
