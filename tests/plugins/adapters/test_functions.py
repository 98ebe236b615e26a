"""Functions of a list, an array or a Series, as modules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import isnan
from statistics import fmean, median_low
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from muntin.errors import ModuleDefinitionError
from muntin.schemas import spell
from muntin.testing import equal
from muntin_adapters import from_array_function, from_function, from_series_function
from tests.plugins.forms import broken_laws

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2024, 1, 2, tzinfo=UTC)


def trimmed(values: list[float], share: float = 0.0) -> float:
    """The mean of the middle."""
    values.sort()  # as careless code does
    cut = int(len(values) * share)
    return sum(values[cut : len(values) - cut]) / (len(values) - 2 * cut)


@dataclass(frozen=True)
class Trip:
    """A record, whose fields a function sees as columns."""

    distance: float
    hours: int


def slowest(trips: Any) -> float:
    """Return the least speed, of a structured array or a DataFrame."""
    return float((trips["distance"] / trips["hours"]).min())


TRIPS = st.builds(Trip, st.integers(0, 99).map(float), st.integers(1, 9))


def test_types_and_parameters_come_from_the_function() -> None:
    module = from_function(trimmed, name="demo.trimmed", version="1.0.0")
    assert (spell(module.input_field()), spell(module.result_field())) == ("float", "float")
    assert module.__doc__ == "The mean of the middle."
    assert module(share=0.25).compute_result([1.0, 2.0, 4.0, 100.0]) == 3.0
    assert module().compute_result([1.0, 2.0, 6.0]) == 3.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'part'"):
        module(part=1)


def test_a_type_of_none_is_that_of_the_annotation() -> None:
    module = from_function(trimmed, name="demo.trimmed", version="1.0.0", input=None, result=None)
    assert (spell(module.input_field()), spell(module.result_field())) == ("float", "float")


def test_a_function_of_the_standard_library_needs_its_types_alone() -> None:
    low = from_function(median_low, name="demo.low", version="3.11", input=int, result=int)
    mean = from_function(fmean, name="demo.mean", version="3.11", input=float, result=float)
    assert low().compute_result([5, 1, 3, 4]) == 3
    assert mean().compute_result([1.0, 2.5]) == 1.75


@pytest.mark.parametrize(
    ("payload_type", "payloads", "dtype"),
    [
        (float, [1.5, 2], "float64"),
        (int, [1, 2], "int64"),
        (bool, [True], "bool"),
        (datetime, [NOON], "datetime64[us]"),
        (date, [NOON.date()], "datetime64[D]"),
        (timedelta, [timedelta(1)], "timedelta64[us]"),
        (str, ["a"], "object"),
    ],
)
def test_an_array_has_the_type_of_a_columnar_aggregate_and_comes_back_as_it_was(
    payload_type: Any, payloads: list[Any], dtype: str
) -> None:
    dtypes: list[Any] = []

    def first(values: Any) -> Any:
        dtypes.append(values.dtype)
        return values[0]

    module = from_array_function(first, name="demo.first", version="1", input=payload_type, result=payload_type)
    assert module().compute_result(payloads) == payloads[0]
    assert dtypes == [np.dtype(dtype)]


@pytest.mark.parametrize(
    ("payload_type", "payloads", "dtype"),
    [
        (float, [1.5, None], "float64"),
        (int, [1, 2], "int64"),
        (int, [1, None], "Int64"),
        (bool, [True, None], "boolean"),
        (datetime, [NOON, None, MIDNIGHT], "datetime64[us, UTC]"),
        (timedelta, [timedelta(1), None], "timedelta64[us]"),
        (str, ["a", None], "object"),
    ],
)
def test_a_series_knows_its_nulls_and_comes_back_as_it_was(payload_type: Any, payloads: list[Any], dtype: str) -> None:
    dtypes: list[Any] = []

    def everything(values: pd.Series) -> Any:
        dtypes.append(str(values.dtype))
        return values

    module = from_series_function(
        everything, name="demo.everything", version="1", input=payload_type | None, result=list[payload_type | None]
    )
    result = []
    for value in module().compute_result(payloads):
        is_null = isinstance(value, float) and isnan(value)  # a Series of floats has no other null
        result.append(None if is_null else value)
    assert equal(result, payloads)
    assert dtypes == [dtype]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda values: 0, {"result": int}, "demo.wrong: the type of its payloads is not known"),
        (lambda values: 0, {"input": int}, "demo.wrong: the type of its result is not known"),
        (lambda: 0, {"input": int, "result": int}, "takes no payloads"),
        (3, {"input": int, "result": int}, "3 is not a function"),
        (sum, {"input": int, "result": complex}, "complex'> has no column type"),
    ],
)
def test_a_function_that_cannot_be_a_module_is_refused(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=message):
        from_function(function, name="demo.wrong", version="1.0.0", **options)


LAWFUL: tuple[tuple[Any, dict[str, Any]], ...] = (
    (from_function(trimmed, name="demo.trimmed", version="1.0.0")(share=0.25), {}),
    (from_array_function(np.median, name="numpy.median", version="2", input=float, result=float)(), {}),
    (from_array_function(np.ma.sum, name="numpy.sum", version="2", input=int | None, result=int | None)(), {}),
    (from_array_function(slowest, name="numpy.slowest", version="1", input=Trip)(), {"payloads": TRIPS}),
    (from_series_function(pd.Series.mean, name="pandas.mean", version="2", input=float | None, result=float)(), {}),
    (from_series_function(slowest, name="pandas.slowest", version="1", input=Trip)(), {"payloads": TRIPS}),
)


@pytest.mark.parametrize(("module", "attributes"), LAWFUL, ids=lambda value: getattr(value, "name", ""))
def test_a_module_that_is_made_of_a_function_keeps_all_laws(module: Any, attributes: dict[str, Any]) -> None:
    assert broken_laws(module, **attributes) == []
