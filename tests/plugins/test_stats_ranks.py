"""Aggregates of order: min, max, median, quantile, mode, top k, distinct count."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from decimal import Decimal
from itertools import permutations
from math import inf, isnan, nan
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin_stats import DistinctCount, Max, Median, Min, Mode, Place, Quantile, Ranked, TopBy, TopK


def result(module: Any, payloads: Sequence[Any], removed: Sequence[Any] = ()) -> Any:
    state = module.add_events(module.create_state(), payloads)
    return module.compute_result(module.remove_events(state, removed) if removed else state)


@pytest.mark.parametrize(
    ("payloads", "smallest", "largest"),
    [
        ([3, None, 1, 2], 1, 3),
        (["b", "a"], "a", "b"),
        ([Decimal("1.5"), Decimal("1.25")], Decimal("1.25"), Decimal("1.5")),
        ([date(2024, 2, 1), date(2024, 1, 31)], date(2024, 1, 31), date(2024, 2, 1)),
        ([10**30, 10**30 + 1], 10**30, 10**30 + 1),
        ([inf, -inf, 0.0], -inf, inf),
        ([False], False, False),
        ([None], None, None),
    ],
)
def test_min_and_max_take_any_ordered_type(payloads: list[Any], smallest: Any, largest: Any) -> None:
    assert result(Min(), payloads) == smallest
    assert result(Max(), payloads) == largest


@pytest.mark.parametrize("payloads", [[nan, 1.0, inf], [1.0, nan, inf], [inf, 1.0, nan]])
def test_nan_is_larger_than_any_number(payloads: list[float]) -> None:
    assert result(Min(), payloads) == 1.0
    assert isnan(result(Max(), payloads))
    assert result(Median(), payloads) == inf
    assert isnan(result(Quantile(1.0), payloads))


def test_nothing_but_nan_has_nan_as_its_minimum() -> None:
    assert isnan(result(Min(), [nan, None]))


def test_a_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() -> None:
    assert result(Median(), [9.0, None, 1.0, 2.0]) == 2.0
    assert result(Median(), [9.0, 1.0, 2.0, 4.0]) == 3.0
    assert result(Median(), [5.0]) == 5.0
    assert result(Median(), [None]) is None


@pytest.mark.parametrize(("q", "expected"), [(0, 1.0), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1, 4.0)])
def test_a_quantile_lies_linearly_between_the_closest_ranks(q: float, expected: float) -> None:
    assert result(Quantile(q), [4.0, 1.0, 3.0, 2.0]) == pytest.approx(expected)


@pytest.mark.parametrize("q", [0.0, 0.1, 1 / 3, 0.5, 0.77, 0.9, 1.0])
def test_a_quantile_is_that_of_numpy(q: float) -> None:
    random = Random(7)
    values = [random.gauss(0, 1) for _ in range(101)]
    assert result(Quantile(q), values) == pytest.approx(float(np.quantile(values, q)), rel=1e-14)


def test_a_quantile_of_ints_is_a_float() -> None:
    assert repr(result(Quantile(0.0), [3, 1])) == "1.0"


def test_a_quantile_next_to_an_infinity_is_one() -> None:
    assert result(Quantile(0.5), [1.0, inf]) == inf
    assert result(Quantile(0.5), [-inf, 1.0]) == -inf
    assert result(Quantile(0.0), [1.0, inf]) == 1.0
    assert result(Median(), [inf, inf]) == inf
    assert result(Median(), [-1.7e308, 1.7e308]) == 0.0


def test_a_quantile_next_to_nan_is_nan() -> None:
    assert isnan(result(Quantile(0.5), [1.0, nan]))
    assert result(Quantile(0.0), [1.0, nan]) == 1.0


def test_a_mode_is_the_most_frequent_value_and_of_several_the_smallest() -> None:
    assert result(Mode(), ["b", "a", "b", None, None, None]) == "b"
    assert result(Mode(), ["b", "a", "b", "a", "c"]) == "a"
    assert result(Mode(), [None]) is None
    assert result(Mode(), [2, 2, 1], removed=[2]) == 1


def test_nan_is_a_mode_only_if_it_is_more_frequent_than_any_number() -> None:
    assert isnan(result(Mode(), [nan, float("nan"), 1.0]))
    assert result(Mode(), [nan, 1.0]) == 1.0


def test_top_k_has_exactly_k_rows_whatever_ties() -> None:
    assert result(TopK(2), [5, 9, 9, None, 9]) == [Place(1, 9), Place(2, 9)]
    assert result(TopK(2, largest=False), [5, 9, 5, 9]) == [Place(1, 5), Place(2, 5)]


def test_top_k_has_fewer_rows_if_there_are_fewer_members() -> None:
    assert result(TopK(3), ["a", None]) == [Place(1, "a")]
    assert result(TopK(3), [None]) == []


def test_nan_takes_the_first_place_of_the_largest_and_the_last_of_the_smallest() -> None:
    assert str(result(TopK(2), [1.0, nan, inf])) == "[Place(rank=1, value=nan), Place(rank=2, value=inf)]"
    assert str(result(TopK(2, largest=False), [nan, 1.0])) == "[Place(rank=1, value=1.0), Place(rank=2, value=nan)]"


@pytest.mark.parametrize("largest", [True, False])
@given(st.lists(st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.integers(0, 4))), st.integers(1, 4))
def test_the_first_rows_are_those_of_sqlite(largest: bool, rows: list[tuple[str | None, int | None]], k: int) -> None:
    way = "desc" if largest else "asc"
    nulls = "nulls last"
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table t (value text, by integer)")
        database.executemany("insert into t values (?, ?)", rows)
        for ties, rank, order in [
            ("exact", "row_number()", f"by {way}, value {way} {nulls}"),
            ("all", "rank()", f"by {way}"),
        ]:
            ranked = f"select {rank} over (order by {order}) as rank, value, by from t where by is not null"
            wanted = database.execute(f"select * from ({ranked}) where rank <= {k}").fetchall()
            top: TopBy[str, int] = TopBy(k, largest=largest, ties=ties)
            found = result(top, [Ranked(*row) for row in rows])
            assert Counter((row.rank, row.value, row.by) for row in found) == Counter(wanted)


def test_rows_of_equal_rank_come_in_the_order_of_their_values_whatever_these_are() -> None:
    rows = [{"km": nan, "stops": [2]}, {"km": 1.0, "stops": [2, None]}, {"km": 1.0, "stops": None}, None]
    for some in permutations(rows):
        found = result(TopBy[Any, int](3, largest=False), [Ranked(row, 1) for row in some])
        assert str([row.value for row in found]) == str([rows[2], rows[1], rows[0]])


def test_a_row_of_a_window_has_no_signed_zero() -> None:
    assert repr(result(TopBy[Any, float](1), [Ranked({"a": [-0.0]}, -0.0)])) == (
        "[RankedRow(rank=1, value={'a': [0.0]}, by=0.0)]"
    )


def test_distinct_values_are_counted_once() -> None:
    assert result(DistinctCount(), ["a", "b", "a", None]) == 2
    assert result(DistinctCount(), [nan, float("nan"), 0.0, -0.0]) == 2
    assert result(DistinctCount(), [None]) == 0
    assert result(DistinctCount(), ["a", "a", "b"], removed=["a", "b"]) == 1
