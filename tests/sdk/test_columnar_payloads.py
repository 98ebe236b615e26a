"""Payloads as arrays, and results as Python values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np
import pytest

from muntin import Instant
from muntin.columnar import payload_arrays
from muntin.columnar.payloads import observed
from muntin.columnar.results import python_values
from muntin.schemas import describe, spell

T = TypeVar("T")
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
ENDS = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]


def columns_of(arrays: object) -> list[Any]:
    assert isinstance(arrays, dict)
    return list(arrays.values())


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
    return payload_arrays(describe(annotation), payloads, skips_nulls=skips_nulls)[0]


@pytest.mark.parametrize(
    ("annotation", "payloads", "dtype"),
    [
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
    ],
)
def test_each_kind_of_payload_has_an_array_type(annotation: Any, payloads: list[Any], dtype: str) -> None:
    array = arrays(annotation, payloads)
    assert (array.dtype, array.shape) == (np.dtype(dtype), (len(payloads),))
    assert array.tolist() == payloads
    empty = arrays(annotation, [])
    assert (empty.dtype, empty.shape) == (np.dtype(dtype), (0,))


def test_datetimes_are_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    payloads = [NOON, NOON.astimezone(east), NOON.replace(tzinfo=None), *ENDS]
    found = arrays(datetime, payloads)
    assert found.dtype == "datetime64[us]"
    assert found[:3].tolist() == [NOON.replace(tzinfo=None)] * 3
    assert found[3:].tolist() == [end.replace(tzinfo=None) for end in ENDS]


@pytest.mark.parametrize(("annotation", "payload"), [(int, 2**63), (timedelta, timedelta.max)])
def test_a_payload_beyond_64_bits_is_refused_and_does_not_wrap_around(annotation: Any, payload: Any) -> None:
    with pytest.raises(OverflowError):
        arrays(annotation, [payload])


def test_nulls_are_left_out_or_masked() -> None:
    payloads = [None, 1.5, None, float("nan")]
    assert arrays(float | None, payloads).tolist()[0] == 1.5
    masked = arrays(float | None, payloads, skips_nulls=False)
    assert np.ma.getmaskarray(masked).tolist() == [True, False, True, False]
    for annotation in (bool, int, str, date, datetime, timedelta, list[int]):
        assert arrays(annotation | None, [None], skips_nulls=False).mask.tolist() == [True]
        assert len(arrays(annotation | None, [None])) == 0


def test_payloads_without_nulls_are_masked_arrays_all_the_same_where_nulls_are_not_skipped() -> None:
    assert isinstance(arrays(int, [1], skips_nulls=False), np.ma.MaskedArray)
    assert not isinstance(arrays(int, [1]), np.ma.MaskedArray)


@pytest.mark.parametrize(
    ("annotation", "payloads"),
    [
        (Point, [Point(1.0, 2.0), None, Point(3.0, None)]),
        (tuple[float, float | None], [(1.0, 2.0), None, (3.0, None)]),
    ],
)
def test_a_record_is_an_array_per_field_and_one_with_a_null_field_counts_as_null(
    annotation: Any, payloads: list[Any]
) -> None:
    field = describe(annotation)
    arrays, count = payload_arrays(field, payloads, skips_nulls=True)
    x, y = columns_of(arrays)
    assert (x.tolist(), y.tolist()) == ([1.0], [2.0])
    assert count == 1
    arrays, count = payload_arrays(field, payloads, skips_nulls=False)
    x, y = columns_of(arrays)
    assert (x.mask.tolist(), y.mask.tolist()) == ([False, True, False], [False, True, True])
    assert count == 3


def test_dataclasses_and_typed_dicts_are_records_too() -> None:
    readings = arrays(Reading, [Reading(1.5, "m"), Reading(2.5), {"value": 3.5, "unit": "s"}])
    assert (readings["value"].tolist(), readings["unit"].tolist()) == ([1.5, 3.5], ["m", "s"])
    rows = arrays(Row, [{"x": 1, "day": date(1969, 12, 31)}])
    assert (rows["x"].tolist(), rows["day"].view("int64").tolist()) == ([1], [-1])
    assert {name: len(array) for name, array in arrays(Reading, []).items()} == {"value": 0, "unit": 0}


@pytest.mark.parametrize(
    ("annotation", "payloads", "spelt"),
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
def test_type_variables_are_what_the_payloads_are(annotation: Any, payloads: list[Any], spelt: str) -> None:
    assert spell(observed(describe(annotation), payloads)) == spelt


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
    found = python_values(results)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))
