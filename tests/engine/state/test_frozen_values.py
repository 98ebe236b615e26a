"""Values that are the same, and so cause no change of what is live."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from muntin_engine.state.codec import Codec
from muntin_engine.state.frozen_values import freeze


@dataclass(frozen=True)
class Mean:
    total: float
    parts: list[int]


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (float("nan"), float("nan")),
        ([float("nan"), {1}], [float("nan"), {1}]),
        (Decimal("NaN"), Decimal("NaN")),
        (Mean(float("nan"), [1]), Mean(float("nan"), [1])),
        (np.float64(2.5), 2.5),
        (np.int32(3), 3),
        (OrderedDict(a=[1], b=2), {"b": 2, "a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (deque([1, [2]]), deque([1, [2]])),
        ({"k": ({"x"}, None)}, {"k": ({"x"}, None)}),
    ],
)
def test_values_that_mean_the_same_are_equal_when_frozen(value: Any, same: Any) -> None:
    assert freeze(value) == freeze(same)
    assert hash(freeze(value)) == hash(freeze(same))


@pytest.mark.parametrize(
    ("value", "similar"), [(1, 1.0), (1, True), ([1], (1,)), ("1", 1), ([1, 2], [2, 1]), (None, 0)]
)
def test_values_that_look_alike_differ_when_frozen(value: Any, similar: Any) -> None:
    assert freeze(value) != freeze(similar)


@pytest.mark.parametrize("value", [1, 2.5, float("nan"), (1, [2], {3}), np.float32(1.5), Counter("ab"), Mean(1.0, [2])])
def test_a_value_that_was_packed_and_unpacked_is_the_same_when_frozen(value: Any) -> None:
    codec = Codec([Mean])
    assert freeze(codec.unpack(codec.pack(value))) == freeze(value)
