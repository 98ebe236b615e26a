"""Columns as arrays for a module, and the errors of a module that does not return the arrays that it declares."""

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
    """A sum whose two methods are functions that a test chooses."""

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


def twisted_form(lifted: Any = None, results: Any = None) -> BoundForm:
    """Return the form of a `Twisted` that reads a column of floats."""
    return BoundForm(Twisted(lifted, results), "test.twisted 1", (0,), (describe(float, "x"),))


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
    """What stands in the place of a null means nothing, but something must: a value that occurs, or zero."""
    array = array_of(pa.array(values, arrow_type), describe(annotation, "x"))
    assert array.dtype == expected.dtype
    assert np.array_equal(array, expected)


def test_text_becomes_an_array_of_python_objects() -> None:
    array = array_of(pa.array(["a", None]), describe(str, "x"))
    assert array.dtype == object
    assert array.tolist() == ["a", None]


XS = pa.array([1.0, None, 3.0, 4.0])
YS = pa.array([2.0, 2.0, None, 5.0])


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        pytest.param([XS, YS], (describe(float | None, "x"), describe(float | None, "y")), id="two columns"),
        pytest.param([pa.StructArray.from_arrays([XS, YS], ["x", "y"])], (describe(Point, "p"),), id="a struct"),
    ],
)
def test_records_are_lifted_by_field_without_those_that_have_a_null(columns: list[pa.Array], fields: Any) -> None:
    form = BoundForm(Area(), "test.area 1", tuple(range(len(columns))), fields)
    lifted, places = form.lift(columns, 4)
    assert lifted["area"].tolist() == [1.0 * 2.0, 4.0 * 5.0]
    assert places is not None
    assert places.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("lifted", "message"),
    [
        pytest.param(lambda payloads: payloads[1:], r"has the shape \(1,\)", id="too short"),
        pytest.param(lambda payloads: payloads[:, None], r"has the shape \(2, 1\)", id="two dimensions"),
        pytest.param(lambda payloads: payloads.astype(str), r"is of type", id="texts"),
    ],
)
def test_a_component_of_another_shape_or_type_than_declared_is_refused(lifted: Any, message: str) -> None:
    with pytest.raises(ModuleContractError, match=rf"test.twisted 1: 'sum' from lift {message}"):
        twisted_form(lifted).lift([pa.array([1.0, 2.0])], 2)


def test_fewer_results_than_stretches_are_refused() -> None:
    form = twisted_form(results=lambda sums: sums[1:])
    with pytest.raises(ModuleContractError, match=r"test.twisted 1 returned results of the shape \(1,\)"):
        form.results({"sum": np.array([1.0, 2.0])}, np.array([1, 1]))


def test_an_exception_names_module_and_method() -> None:
    form = twisted_form(lambda _: 1 / 0)
    with pytest.raises(ModuleFailedError, match=r"test.twisted 1 failed in lift: ZeroDivisionError") as failure:
        form.lift([pa.array([1.0])], 1)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
