"""Columnar aggregates as incremental ones, a window at a time; payloads as arrays, and results as values."""

from __future__ import annotations

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


def result(module: ColumnarAggregate[Any, Any], *calls: list[Any]) -> Any:
    """Return the result of a window whose payloads come in several calls; the state is stored in between."""
    state = module.create_state()
    for payloads in calls:
        state = module.add_events(state, payloads)
    return module.compute_result(state)


@pytest.mark.parametrize(
    ("module", "calls", "expected"),
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
    module: ColumnarAggregate[Any, Any], calls: list[list[Any]], expected: Any
) -> None:
    assert result(module, *calls) == expected
    assert type(result(module, *calls)) is type(getattr(expected, "expected", expected))


@pytest.mark.parametrize("module", [modules.Histogram(), modules.Earliest(), modules.Median(), modules.Mean()])
def test_a_state_is_plain_data(module: ColumnarAggregate[Any, Any]) -> None:
    payloads = [NOON] if isinstance(module, modules.Earliest) else [1.5, 2.5]
    state = module.add_events(module.create_state(), payloads)
    assert restored(state) == state
    assert module.compute_result(restored(state)) == result(module, payloads)


def test_the_result_of_nothing_but_nulls_is_the_empty_result() -> None:
    assert result(modules.Busiest(), [None], [None]) is None
    assert result(modules.Count(), [None]) == 0
    assert result(modules.NullShare(), [None]) == 1.0


def test_masked_results_are_null() -> None:
    assert result(modules.Busiest(), [modules.Stay(datetime(2040, 1, 1, tzinfo=UTC).date(), timedelta(1))]) is None


def test_states_are_combined_and_left_as_they_were() -> None:
    median = modules.Median()
    first, second = (median.add_events(median.create_state(), payloads) for payloads in ([1.0], [2.0, 3.0]))
    assert median.compute_result(median.combine(first, second)) == 2.0
    assert (first["payloads"], second["kept"]) == (1, {"values": [2.0, 3.0]})
    assert median.combine(first, median.create_state()) == first


def test_a_columnar_aggregate_has_the_capabilities_that_it_has() -> None:
    mean = modules.Mean()
    assert hasattr(mean, "columnar_form")
    assert hasattr(mean, "combine")
    assert not hasattr(mean, "remove_events")
    assert mean.columnar_form(mean.input_field()) is mean


def test_a_columnar_aggregate_says_what_it_is() -> None:
    modules.Mean.check_definition()
    assert spell(modules.Mean.input_field()) == "float"
    assert spell(modules.Histogram.result_field()) == "list[integer]"
    assert modules.Mean.state_type() == dict[str, Any]
    assert modules.Mean.is_incremental
    assert not modules.Mean.is_time_sensitive


class Texts(ColumnarAggregate[list[str], list[str]]):
    """Collects lists, all of one length, which NumPy would make one array of."""

    name, version = "demo.texts", "1.0.0"
    longest: ClassVar[Component] = Component.merged(np.frompyfunc(max, 2, 1), [], "object")

    def components(self) -> Mapping[str, Component]:
        return {"longest": self.longest}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"longest": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["longest"]


def test_lists_as_values_stay_lists() -> None:
    assert result(Texts(), [["b", "a"], ["a", "b"]], [["a", "a"]]) == ["b", "a"]


class Off(modules.Mean):
    """Returns whatever it is made with."""

    name = "demo.off"

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
        (Off(lifted={}), r"lift returned \[\]\n  expected: an array for each of \['total'\]"),
        (Off(lifted=[1.0]), r"lift returned \[1.0\]\n  expected: an array"),
        (Off(lifted={"total": [1.0], "count": [1]}), r"lift returned \['count', 'total'\]"),
        (Off(lifted={"total": [1.0]}), r"'total' from lift has the shape \(1,\)\n  expected: \(2,\)"),
        (Off(lifted={"total": 1.0}), r"'total' from lift has the shape \(\)"),
        (Off(lifted={"total": ["a", "b"]}), "'total' from lift is of type <U1\n  expected: float64"),
        (Off(lifted={"total": np.ma.MaskedArray([1.0, 2.0], [False, True])}), "'total' from lift has masked entries"),
        (Off(results=[1.0, 2.0]), r"compute_results returned results of the shape \(2,\)\n  expected: \(1,\)"),
        (Off(results=1.0), r"compute_results returned results of the shape \(\)"),
        (Off(results=[[1.0]]), r"compute_results returned results of the shape \(1, 1\)"),
    ],
)
def test_what_a_module_must_not_return_is_refused(module: Off, complaint: str) -> None:
    with pytest.raises(ModuleContractError, match=complaint):
        result(module, [1.0, 2.0])


def test_narrower_types_and_objects_are_cast() -> None:
    assert result(Off(lifted={"total": [True, True]}, results=[1.0]), [1.0, 2.0]) == 1.0
    lifted = {"total": np.array([Decimal("0.5"), 1], object)}
    state = Off(lifted=lifted).add_events(Off().create_state(), [1.0, 2.0])
    assert state["kept"] == {"total": 1.5, "count": 2}


T = TypeVar("T")
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
    columns = arrays(datetime, payloads)
    assert columns.dtype == "datetime64[us]"
    assert columns[:3].tolist() == [NOON.replace(tzinfo=None)] * 3
    assert columns[3:].tolist() == [end.replace(tzinfo=None) for end in ENDS]


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
    [(Point, [Point(1.0, 2.0), None, Point(3.0, None)]), (tuple[float, float | None], [(1.0, 2.0), None, (3.0, None)])],
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
    values_read = python_values(results)
    assert values_read == values
    assert list(map(type, values_read)) == list(map(type, values))
