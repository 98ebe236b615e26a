"""Functions of the values in a window as modules: what they are given, and what they return."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pyspark.sql.functions import udf
from pyspark.sql.pandas import functions as pandas_functions
from pyspark.sql.types import DoubleType, LongType

from muntin.errors import ModuleDefinitionError
from muntin.schemas import Struct
from muntin_engine import module

pandas_udf: Any = pandas_functions.pandas_udf  # its overloads leave out what is annotated
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def value_of(function: Callable[..., Any], payloads: Sequence[Any], columns: int = 1, **parameters: Any) -> Any:
    """Call a function as a module, on the payloads of a window; of several columns a payload is a tuple."""
    call = module(function, *(f"c{place}" for place in range(columns)), **parameters)
    instance: Any = call.cls(**call.parameters)
    return instance.compute_result(payloads)


# Functions that say by their annotations what they take.


def spread(km: list[float]) -> float:
    assert type(km) is list
    return max(km) - min(km)


def missing(km: list[float | None]) -> int:
    return sum(value is None for value in km)


def root(km: NDArray[np.float64], *, power: int = 2) -> float:
    assert isinstance(km, np.ndarray)
    return float((km**power).sum() ** (1 / power))


def weighted(km: list[float], weights: NDArray[np.float64]) -> float:
    assert (type(km), type(weights)) == (list, np.ndarray)
    return float(np.average(km, weights=weights))


def middle(km: pd.Series) -> float:
    assert isinstance(km, pd.Series)
    return float(km.median())


class Extremes(NamedTuple):
    low: float
    high: float


def extremes(km: NDArray[np.float64]) -> Extremes:
    return Extremes(km.min(), km.max())


@pytest.mark.parametrize(
    ("function", "payloads", "parameters", "expected"),
    [
        (np.ptp, [1.0, 4.0, 2.5], {"returns": float}, 3.0),
        (np.percentile, [1.0, 4.0, 2.5], {"returns": float, "q": 50}, 2.5),
        (middle, [1.0, 4.0, 2.5], {}, 2.5),
        (pandas_udf(middle, DoubleType()), [1.0, 4.0, 2.5], {}, 2.5),
        (partial(np.quantile, q=0.5), [1.0, 4.0, 2.5], {"returns": float}, 2.5),
        (statistics.median_low, [1, 4, 2, 3], {"returns": int}, 2),
        (max, [3, 5], {"returns": int}, 5),
        (len, ["a", "b"], {"returns": int}, 2),
        (np.unique, [2, 1, 2], {"returns": list[int]}, [1, 2]),
        (np.max, [NOON, NOON + timedelta(hours=1)], {"returns": datetime}, NOON + timedelta(hours=1)),
        (np.ptp, [NOON, NOON + timedelta(hours=1)], {"returns": timedelta}, timedelta(hours=1)),
        (sum, [Decimal("1.10"), Decimal("2.20")], {"returns": Decimal}, Decimal("3.30")),
        (sorted, ["b", "a"], {"returns": list[str]}, ["a", "b"]),
        (spread, [1.0, 4.0], {}, 3.0),
        (missing, [1.0, None], {}, 1),
        (root, [3.0, 4.0], {}, 5.0),
        (root, [2.0], {"power": 3}, 2.0),
        (extremes, [2.0, 1.0], {}, (1.0, 2.0)),
    ],
)
def test_a_function_is_given_an_array_or_a_list_and_returns_plain_values(
    function: Callable[..., Any], payloads: Sequence[Any], parameters: Mapping[str, Any], expected: object
) -> None:
    """Functions of this file check what they are given; others take either."""
    value = value_of(function, payloads, **parameters)
    if isinstance(expected, float):
        assert value == pytest.approx(expected)
    else:
        assert value == expected
    assert type(value).__module__ != "numpy"


def of_frame(km: pd.DataFrame) -> float:
    return 0.0


def halved(km: pd.Series) -> pd.Series:
    return km / 2


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (of_frame, "a column is no DataFrame of pandas\n  expected: .* km: pd.Series; .*from_series_function"),
        (pandas_udf(halved, DoubleType()), "halved is a UDF of Spark's that does not .*: stats.average\\(halved"),
        (udf(len, LongType()), "len is a UDF of Spark's"),
    ],
)
def test_a_function_of_something_else_than_columns_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=f"(?s){message}"):
        module(function, "km")


def test_the_values_of_several_columns_are_several_arguments() -> None:
    pairs = [(1.0, 10.0), (2.0, 20.0), (4.0, 30.0)]
    assert value_of(lambda x, y: float(x @ y), pairs, columns=2, returns=float) == 170.0
    assert value_of(weighted, pairs, columns=2) == pytest.approx(170 / 60)
    assert value_of(lambda *columns: len(columns), pairs, columns=2, returns=int) == 2


def test_a_row_with_a_null_is_skipped_unless_the_function_takes_nulls() -> None:
    assert not module(spread, "km").cls.input_field().is_nullable
    assert not module(np.ptp, "km", returns=float).cls.input_field().is_nullable
    assert module(missing, "km").cls.input_field().is_nullable


def test_the_result_is_of_the_type_that_the_call_or_the_annotation_says() -> None:
    by_annotation = module(spread, "km").cls.result_field()
    by_call = module(np.ptp, "km", returns=float).cls.result_field()
    assert by_annotation == by_call
    assert module(spread, "km", returns=float | None).cls.result_field().is_nullable, "the call has precedence"


def test_a_named_tuple_as_the_result_is_a_record() -> None:
    result_type = module(extremes, "km").cls.result_field().type
    assert isinstance(result_type, Struct)
    assert [field.name for field in result_type.fields] == ["low", "high"]
