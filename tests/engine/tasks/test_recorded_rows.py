"""The rows of a task that a recording keeps."""

from __future__ import annotations

from math import nan
from typing import Any

import pyarrow as pa
import pytest

from muntin_engine.tasks.recorded_rows import is_of_keys

ROWS = pa.record_batch(
    {
        "k0": pa.array([1.5, nan, None, 1.5, -0.0, None], pa.float64()),
        "k1": pa.array(["a", "a", "a", "b", "a", None]),
        "change": pa.array(["insert"] * 5 + ["punctuate"]),
    }
)


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ([(1.5, "a")], [0]),
        ([(nan, "a")], [1]),
        ([(None, "a")], [2]),
        ([(0.0, "a")], [4]),
        ([(1.5, "b"), (nan, "a")], [1, 3]),
        ([(2.5, "a")], []),
    ],
)
def test_rows_of_keys_are_kept_with_the_rows_of_no_key(keys: list[tuple[Any, ...]], places: list[int]) -> None:
    is_kept = is_of_keys(ROWS, keys).to_pylist()
    assert [place for place, kept in enumerate(is_kept) if kept] == [*places, 5]
