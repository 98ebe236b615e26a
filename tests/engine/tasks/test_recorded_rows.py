"""The rows of a task that a recording keeps."""

from __future__ import annotations

from math import nan
from typing import Any

import pyarrow as pa
import pytest

from muntin_engine.tasks.recorded_rows import is_of_keys


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
def test_rows_of_keys_are_selected_with_the_rows_of_no_key(keys: list[tuple[Any, ...]], places: list[int]) -> None:
    rows = pa.record_batch(
        {
            "k0": pa.array([1.5, nan, None, 1.5, -0.0, None], pa.float64()),
            "k1": pa.array(["a", "a", "a", "b", "a", None]),
            "change": pa.array(["insert", "insert", "insert", "insert", "insert", "punctuate"]),
        }
    )
    is_selected = is_of_keys(rows, keys).to_pylist()
    selected_places = [place for place, selected in enumerate(is_selected) if selected]
    assert selected_places == [*places, 5], "the last row is of no key"


def test_rows_of_a_key_that_is_an_array_are_selected() -> None:
    rows = pa.record_batch({"k0": pa.array([[1.0, nan], [2.0], None, [1.0, nan]], pa.list_(pa.float64()))})
    assert is_of_keys(rows, [([1, nan],)]).to_pylist() == [True, False, False, True]
