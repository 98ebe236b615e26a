"""Columnar aggregates: computed a window at a time; payloads that become arrays, and results that become values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple, TypedDict, TypeVar

import numpy as np
import pytest

from muntin import ColumnarAggregate, Component, Instant
from muntin.columnar import payload_arrays
from muntin.columnar.payloads import observed
from muntin.columnar.results import python_values
from muntin.errors import ModuleContractError
from muntin.schemas import describe, spell
from muntin.testing.plain_data import restored
from tests.sdk.columnar import columnar_modules as modules

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


def result(module: ColumnarAggregate[Any, Any], *payloads_of_calls: list[Any]) -> Any:
    """Return the result of a window whose payloads are added by several calls, one list by each."""
    state = module.create_state()
    for payloads in payloads_of_calls:
        state = module.add_events(state, payloads)
    return module.compute_result(state)


@pytest.mark.parametrize(
    ("module", "payloads_of_calls", "expected"),
    [
        (modules.Total(), [[1, 2], [3]], 6),
        (modules.Mean(), [[1.0], [2.0, 6.0]], 3.0),
        (modules.Histogram(), [[-1e9, 0.0], [1e9]], [1, 0, 0, 0, 1, 0, 0, 1]),
        (modules.Variance(), [[1.0, 2.0], [3.0]], pytest.approx(2 / 3)),
        (modules.LogSum(), [[0.0], [0.0]], pytest.approx(0.6931471805599453)),
        (modules.Median(), [[5.0, 1.0], [3.0]], 3.0),
        (modules.Words(), [["a", "b"], ["a"]], 2),
        (modules.Earliest(), [[NOON], [NOON - timedelta(days=1)]], NOON - timedelta(days=1)),
        (modules.Busiest(), [[modules.Stay(NOON.date(), timedelta(1))] * 2, [None]], timedelta(2)),
        (modules.WeightedMean(), [[modules.Reading(1.0, 1.0)], [modules.Reading(4.0, 2.0)]], 3.0),
        (modules.NullShare(), [[None, 1.0], [None, None]], 0.75),
        (modules.Bits(), [[0b110], [0b011]], (0b010, 0b111, 0b101)),
        (modules.Count(), [["a", None], [1]], 2),
        (modules.Account(), [[Decimal("0.1")], [Decimal("0.2")]], Decimal("0.3")),
    ],
    ids=lambda value: value.name if isinstance(value, ColumnarAggregate) else None,
)
def test_a_columnar_aggregate_computes_one_window_at_a_time(
    module: ColumnarAggregate[Any, Any], payloads_of_calls: list[list[Any]], expected: Any
) -> None:
    value = result(module, *payloads_of_calls)
    assert value == expected
    expected_type = type(getattr(expected, "expected", expected))  # of the number within `pytest.approx`
    assert type(value) is expected_type


@pytest.mark.parametrize(
    ("module", "payloads"),
    [
        (modules.Histogram(), [1.5, 2.5]),
        (modules.Earliest(), [NOON]),
        (modules.Median(), [1.5, 2.5]),
        (modules.Mean(), [1.5, 2.5]),
    ],
    ids=lambda value: value.name if isinstance(value, ColumnarAggregate) else None,
)
def test_the_state_of_a_columnar_aggregate_is_plain_data(
    module: ColumnarAggregate[Any, Any], payloads: list[Any]
) -> None:
    state = module.add_events(module.create_state(), payloads)
    assert restored(state) == state
    assert module.compute_result(restored(state)) == result(module, payloads)


def test_a_window_of_nulls_has_the_empty_result_unless_the_module_takes_nulls() -> None:
    assert result(modules.Busiest(), [None], [None]) is None
    assert result(modules.Count(), [None]) == 0
    assert result(modules.NullShare(), [None]) == 1.0


def test_masked_results_are_null() -> None:
    too_late = date(2040, 1, 1)
    assert result(modules.Busiest(), [modules.Stay(too_late, timedelta(1))]) is None


def test_states_are_combined_and_left_as_they_were() -> None:
    median = modules.Median()
    first = median.add_events(median.create_state(), [1.0])
    second = median.add_events(median.create_state(), [2.0, 3.0])
    assert median.compute_result(median.combine(first, second)) == 2.0
    assert first["payloads"] == 1
    assert second["kept"] == {"values": [2.0, 3.0]}
    assert median.combine(first, median.create_state()) == first


def test_a_columnar_aggregate_combines_states_and_is_its_own_columnar_form() -> None:
    mean = modules.Mean()
    assert hasattr(mean, "combine")
    assert not hasattr(mean, "remove_events"), "it defines none"
    assert mean.columnar_form(mean.input_field()) is mean


def test_a_columnar_aggregate_is_incremental_and_declares_its_types() -> None:
    modules.Mean.check_definition()
    assert spell(modules.Mean.input_field()) == "float"
    assert spell(modules.Histogram.result_field()) == "list[integer]"
    assert modules.Mean.state_type() == dict[str, Any]
    assert modules.Mean.is_incremental
    assert not modules.Mean.is_time_sensitive


class LargestList(ColumnarAggregate[list[str], list[str]]):
    """The largest of lists that all have one length, of which NumPy would make a single array."""

    name, version = "demo.largest_list", "1.0.0"
    largest: ClassVar[Component] = Component.merged(np.frompyfunc(max, 2, 1), [], "object")

    def components(self) -> Mapping[str, Component]:
        return {"largest": self.largest}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"largest": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["largest"]


def test_lists_as_values_stay_lists() -> None:
    assert result(LargestList(), [["b", "a"], ["a", "b"]], [["a", "a"]]) == ["b", "a"]


class Returning(modules.Mean):
    """A mean that returns from `lift` and from `compute_results` whatever it is made with."""

    name = "demo.returning"

    def __init__(self, lifted: Any = None, results: Any = None) -> None:
        self.lifted = lifted
        self.results = results

    def lift(self, payloads: Any) -> Any:
        return super().lift(payloads) if self.lifted is None else self.lifted

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return self.results


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        (Returning(lifted={}), r"lift returned \[\]\n  expected: an array for each of \['total'\]"),
        (Returning(lifted=[1.0]), r"lift returned \[1.0\]\n  expected: an array"),
        (Returning(lifted={"total": [1.0], "count": [1]}), r"lift returned \['count', 'total'\]"),
        (Returning(lifted={"total": [1.0]}), r"'total' from lift has the shape \(1,\)\n  expected: \(2,\)"),
        (Returning(lifted={"total": 1.0}), r"'total' from lift has the shape \(\)"),
        (Returning(lifted={"total": ["a", "b"]}), "'total' from lift is of type <U1\n  expected: float64"),
        (
            Returning(lifted={"total": np.ma.MaskedArray([1.0, 2.0], [False, True])}),
            "'total' from lift has masked entries",
        ),
        (Returning(results=[1.0, 2.0]), r"compute_results returned results of the shape \(2,\)\n  expected: \(1,\)"),
        (Returning(results=1.0), r"compute_results returned results of the shape \(\)"),
        (Returning(results=[[1.0]]), r"compute_results returned results of the shape \(1, 1\)"),
    ],
)
def test_arrays_of_another_shape_or_type_than_a_module_may_return_are_refused(
    module: Returning, complaint: str
) -> None:
    window_of_two_payloads = [1.0, 2.0]
    with pytest.raises(ModuleContractError, match=complaint):
        result(module, window_of_two_payloads)


@pytest.mark.parametrize(
    ("lifted", "total"),
    [([True, True], 2.0), (np.array([Decimal("0.5"), 1], object), 1.5)],
    ids=["narrower", "objects"],
)
def test_lifted_arrays_of_a_narrower_type_or_of_objects_are_cast(lifted: Any, total: float) -> None:
    module = Returning(lifted={"total": lifted})
    state = module.add_events(module.create_state(), [1.0, 2.0])
    assert state["kept"] == {"total": total, "count": 2}


# Payloads as arrays.

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    value: float
    unit: str | None = None


class Point(NamedTuple):
    x: float
    y: float | None


class Row(TypedDict):
    x: int
    day: date


def arrays(annotation: Any, payloads: Sequence[Any], *, skips_nulls: bool = True) -> Any:
    """Return payloads of a type as an array, or as a dict of arrays by field where they are records."""
    arrays, _ = payload_arrays(describe(annotation), payloads, skips_nulls=skips_nulls)
    return arrays


ARRAY_TYPES: list[tuple[Any, list[Any], str]] = [
    (bool, [True, False], "bool"),
    (int, [-(2**63), 2**63 - 1], "int64"),
    (Instant, [-(2**63), 2**63 - 1], "int64"),
    (float, [1.5, 2, float("inf"), Decimal("0.5")], "float64"),
    (date, [date.min, date(1970, 1, 1), date.max], "datetime64[D]"),
    (timedelta, [timedelta(0), timedelta(days=-9, microseconds=1)], "timedelta64[us]"),
    (str, ["", "text"], "object"),
    (bytes, [b"\x00"], "object"),
    (Decimal, [Decimal("1.10")], "object"),
    (list[int], [[1, 2], [3, 4]], "object"),
    (tuple[int, ...], [(1,), (2,)], "object"),
    (dict[str, int], [{"a": 1}, {}], "object"),
]
"""The type of payloads, some of them, and the type of their array."""


@pytest.mark.parametrize(("annotation", "payloads", "dtype"), ARRAY_TYPES)
def test_payloads_of_each_kind_become_an_array_of_its_type(annotation: Any, payloads: list[Any], dtype: str) -> None:
    array = arrays(annotation, payloads)
    assert array.dtype == np.dtype(dtype)
    assert array.shape == (len(payloads),)
    assert array.tolist() == payloads


@pytest.mark.parametrize(("annotation", "dtype"), [(annotation, dtype) for annotation, _, dtype in ARRAY_TYPES])
def test_no_payloads_become_an_empty_array_of_the_type_of_their_kind(annotation: Any, dtype: str) -> None:
    array = arrays(annotation, [])
    assert array.dtype == np.dtype(dtype)
    assert array.shape == (0,)


def test_datetimes_become_naive_ones_in_utc() -> None:
    noon_in_the_east = NOON.astimezone(timezone(timedelta(hours=2)))
    naive_noon = NOON.replace(tzinfo=None)
    array = arrays(datetime, [NOON, noon_in_the_east, naive_noon])
    assert array.dtype == "datetime64[us]"
    assert array.tolist() == [naive_noon, naive_noon, naive_noon]


def test_the_first_and_the_last_datetime_fit_into_an_array() -> None:
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    assert arrays(datetime, ends).tolist() == [end.replace(tzinfo=None) for end in ends]


@pytest.mark.parametrize(("annotation", "payload"), [(int, 2**63), (timedelta, timedelta.max)])
def test_a_payload_beyond_64_bits_is_refused_and_does_not_wrap_around(annotation: Any, payload: Any) -> None:
    with pytest.raises(OverflowError):
        arrays(annotation, [payload])


def test_nulls_are_left_out_where_they_are_skipped_and_nan_is_none() -> None:
    number, nan = arrays(float | None, [None, 1.5, None, float("nan")]).tolist()
    assert number == 1.5
    assert math.isnan(nan)


def test_nulls_are_masked_where_they_are_not_skipped_and_nan_is_not() -> None:
    array = arrays(float | None, [None, 1.5, None, float("nan")], skips_nulls=False)
    assert np.ma.getmaskarray(array).tolist() == [True, False, True, False]


@pytest.mark.parametrize("annotation", [bool, int, str, date, datetime, timedelta, list[int]], ids=str)
def test_nulls_of_each_kind_are_left_out_or_masked(annotation: Any) -> None:
    assert len(arrays(annotation | None, [None])) == 0
    assert arrays(annotation | None, [None], skips_nulls=False).mask.tolist() == [True]


def test_payloads_without_nulls_are_masked_arrays_all_the_same_where_nulls_are_not_skipped() -> None:
    assert isinstance(arrays(int, [1], skips_nulls=False), np.ma.MaskedArray)
    assert not isinstance(arrays(int, [1]), np.ma.MaskedArray)


def columns_of(record_arrays: object) -> list[Any]:
    """Return the arrays of records, in the order of their fields."""
    assert isinstance(record_arrays, dict)
    return list(record_arrays.values())


POINTS_AS_RECORDS = pytest.mark.parametrize(
    ("annotation", "payloads"),
    [
        (Point, [Point(1.0, 2.0), None, Point(3.0, None)]),
        (tuple[float, float | None], [(1.0, 2.0), None, (3.0, None)]),
    ],
    ids=["named tuple", "tuple"],
)
"""A record, a null, and a record with a null field."""


@POINTS_AS_RECORDS
def test_a_record_with_a_null_field_is_left_out_as_a_null_is(annotation: Any, payloads: list[Any]) -> None:
    record_arrays, count = payload_arrays(describe(annotation), payloads, skips_nulls=True)
    x, y = columns_of(record_arrays)
    assert x.tolist() == [1.0]
    assert y.tolist() == [2.0]
    assert count == 1


@POINTS_AS_RECORDS
def test_the_null_field_of_a_record_is_masked_and_so_are_all_fields_of_a_null(
    annotation: Any, payloads: list[Any]
) -> None:
    record_arrays, count = payload_arrays(describe(annotation), payloads, skips_nulls=False)
    x, y = columns_of(record_arrays)
    assert x.mask.tolist() == [False, True, False]
    assert y.mask.tolist() == [False, True, True]
    assert count == 3


def test_dataclasses_and_typed_dicts_are_records_too() -> None:
    readings = arrays(Reading, [Reading(1.5, "m"), Reading(2.5, None), {"value": 3.5, "unit": "s"}])
    assert readings["value"].tolist() == [1.5, 3.5]
    assert readings["unit"].tolist() == ["m", "s"]

    rows = arrays(Row, [{"x": 1, "day": date(1970, 1, 1)}])
    assert rows["x"].tolist() == [1]
    assert rows["day"].tolist() == [date(1970, 1, 1)]


def test_no_records_become_an_empty_array_for_each_field() -> None:
    lengths = {name: len(array) for name, array in arrays(Reading, []).items()}
    assert lengths == {"value": 0, "unit": 0}


def test_days_count_from_1970_on() -> None:
    assert arrays(date, [date(1969, 12, 31)]).view("int64").tolist() == [-1]


@pytest.mark.parametrize(
    ("annotation", "payloads", "type_name"),
    [
        (T, [1, 2], "integer"),
        (T, [1, None], "integer | None"),
        (T, [1, 2.5], "float"),
        (T, [True, False], "boolean"),
        (T, [NOON], "timestamp"),
        (T, [date.min], "date"),
        (T, ["a", 1], "T"),
        (T, [None], "T"),
        (T, [], "T"),
        (Any, [1.5], "float | None"),
        (T, [[1], [], None], "list[integer] | None"),
        (T, [Point(1.0, 2.0)], "struct<x: float, y: float | None>"),
        (T, [object()], "any"),
        (tuple[Any, str], [(1, "a"), None], "struct<_1: integer | None, _2: string>"),
        (list[Any], [[1.5]], "list[float | None]"),
        (dict[str, Any], [{"a": b""}], "map[string, binary | None]"),
        (int, [1.5], "integer"),
    ],
)
def test_a_type_variable_becomes_the_type_that_the_payloads_have_in_common(
    annotation: Any, payloads: list[Any], type_name: str
) -> None:
    assert spell(observed(describe(annotation), payloads)) == type_name


def test_payloads_of_a_type_variable_come_as_those_of_the_type_that_they_have() -> None:
    assert arrays(Any, [1, 2]).dtype == "int64"
    assert arrays(Any, [1, 2.5, None]).tolist() == [1.0, 2.5]
    assert arrays(Any, ["a", 1]).tolist() == ["a", 1]


@pytest.mark.parametrize(
    ("results", "values"),
    [
        (np.array([1.5, 2.0]), [1.5, 2.0]),
        (np.array([1, 2], "int8"), [1, 2]),
        (np.array([True]), [True]),
        (np.array([1.5], "float32"), [1.5]),
        (np.array(["a"]), ["a"]),
        ([1, 2], [1, 2]),
        (np.ma.MaskedArray([1, 2], [False, True]), [1, None]),
        (np.ma.MaskedArray([1, 2]), [1, 2]),
        (np.array(["2024-02-29T12", "NaT"], "datetime64[us]"), [NOON, None]),
        (np.array(["2024-02-29T12"], "datetime64[ns]"), [NOON]),
        (np.array(["2024-02-29", "NaT"], "datetime64[D]"), [date(2024, 2, 29), None]),
        (np.array([1, "NaT"], "timedelta64[D]"), [timedelta(days=1), None]),
        (np.array([1_000], "timedelta64[ns]"), [timedelta(microseconds=1)]),
        (np.ma.MaskedArray(np.array([2**62], "datetime64[us]"), [True]), [None]),
        (np.array([None, "a", Decimal(1)], object), [None, "a", Decimal(1)]),
        (np.fromiter([[1, 2], np.array([3, 4]), np.float64(0.5)], object), [[1, 2], [3, 4], 0.5]),
    ],
    ids=repr,
)
def test_results_become_python_values(results: Any, values: list[Any]) -> None:
    values_of_results = python_values(results)
    assert values_of_results == values
    assert [type(value) for value in values_of_results] == [type(value) for value in values]
