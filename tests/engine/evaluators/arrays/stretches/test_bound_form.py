"""Columns as arrays, and what becomes of a module that does not keep its word."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from muntin import ColumnarAggregate, Component
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.schemas import describe
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, array_of

AT = datetime(2024, 5, 1, 12, tzinfo=UTC)
UTC_TIME = pa.timestamp("us", tz="UTC")


class Point(NamedTuple):
    x: float | None
    y: float | None


class Area(ColumnarAggregate[Point, float]):
    name, version = "test.area", "1"

    def components(self) -> Mapping[str, Component]:
        return {"area": Component.sum()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"area": payloads["x"] * payloads["y"]}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["area"]


class Twisted(ColumnarAggregate[float, float]):
    name, version = "test.twisted", "1"

    def __init__(self, lifted: Any = None, results: Any = None) -> None:
        self.lifted = lifted
        self.results = results

    def components(self) -> Mapping[str, Component]:
        return {"sum": Component.sum()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"sum": self.lifted(payloads)}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return self.results(components["sum"])


@pytest.mark.parametrize(
    ("annotation", "values", "arrow_type", "expected"),
    [
        (bool, [True, None], pa.bool_(), np.array([True, True])),
        (int, [3, None], pa.int32(), np.array([3, 3])),
        (float, [None, 2.5], pa.float64(), np.array([2.5, 2.5])),
        (datetime, [AT, None], UTC_TIME, np.array(["2024-05-01T12"] * 2, "datetime64[us]")),
        (date, [date(2024, 5, 1), None], pa.date32(), np.array(["2024-05-01"] * 2, "datetime64[D]")),
        (timedelta, [timedelta(1), None], pa.duration("us"), np.array([86_400_000_000] * 2, "timedelta64[us]")),
        (float, [None, None], pa.float64(), np.array([0.0, 0.0])),
    ],
)
def test_columns_become_arrays_of_the_declared_type(
    annotation: Any, values: list[Any], arrow_type: pa.DataType, expected: Any
) -> None:
    array = array_of(pa.array(values, arrow_type), describe(annotation, "x"))
    assert array.dtype == expected.dtype
    assert np.array_equal(array, expected)  # what stands where a null is means nothing, but must be there


def test_text_comes_as_python_values() -> None:
    array = array_of(pa.array(["a", None]), describe(str, "x"))
    assert array.dtype == object
    assert array.tolist() == ["a", None]


def test_records_come_by_field_from_columns_and_from_a_struct_and_go_with_any_null() -> None:
    xs = pa.array([1.0, None, 3.0, 4.0])
    ys = pa.array([2.0, 2.0, None, 5.0])
    parts = (describe(float | None, "x"), describe(float | None, "y"))
    lifted, places = BoundForm(Area(), "test.area 1", (0, 1), parts).lift([xs, ys], 4)
    assert places is not None
    assert (lifted["area"].tolist(), places.tolist()) == ([2.0, 20.0], [0, 3])
    struct = pa.StructArray.from_arrays([xs, ys], ["x", "y"])
    lifted, places = BoundForm(Area(), "test.area 1", (0,), (describe(Point, "p"),)).lift([struct], 4)
    assert places is not None
    assert (lifted["area"].tolist(), places.tolist()) == ([2.0, 20.0], [0, 3])


@pytest.mark.parametrize(
    ("lifted", "message"),
    [
        (lambda payloads: payloads[1:], r"test.twisted 1: 'sum' from lift has the shape \(1,\)"),
        (lambda payloads: payloads[:, None], r"test.twisted 1: 'sum' from lift has the shape \(2, 1\)"),
        (lambda payloads: payloads.astype(str), r"test.twisted 1: 'sum' from lift is of type"),
    ],
)
def test_an_array_that_is_not_what_was_declared_is_refused(lifted: Any, message: str) -> None:
    form = BoundForm(Twisted(lifted), "test.twisted 1", (0,), (describe(float, "x"),))
    with pytest.raises(ModuleContractError, match=message):
        form.lift([pa.array([1.0, 2.0])], 2)


def test_too_few_results_are_refused() -> None:
    form = BoundForm(Twisted(results=lambda sums: sums[1:]), "test.twisted 1", (0,), (describe(float, "x"),))
    with pytest.raises(ModuleContractError, match=r"test.twisted 1 returned results of the shape \(1,\)"):
        form.results({"sum": np.array([1.0, 2.0])}, np.array([1, 1]))


def test_an_exception_names_module_and_method() -> None:
    form = BoundForm(Twisted(lambda _: 1 / 0), "test.twisted 1", (0,), (describe(float, "x"),))
    with pytest.raises(ModuleFailedError, match=r"test.twisted 1 failed in lift: ZeroDivisionError") as failure:
        form.lift([pa.array([1.0])], 1)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
