"""Python values to Arrow arrays: what is declared is what goes in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pytest

from muntin import INFINITY, Instant
from muntin.schemas import describe
from muntin.testing.fitting import misfit
from muntin_engine.wire.typed_arrays import MisfitError, first_misfit, to_arrow

UTC_TIME = pa.timestamp("us", tz="UTC")
SPAN = pa.struct([("low", pa.float64()), ("high", pa.float64())])


@dataclass(frozen=True, slots=True)
class Span:
    low: float
    high: float


class NamedSpan(NamedTuple):
    low: float
    high: float


class Low(NamedTuple):
    low: float


class DictSpan(TypedDict):
    low: float
    high: float


@pytest.mark.parametrize(
    ("annotation", "arrow_type", "value", "expected"),
    [
        (bool, pa.bool_(), np.bool_(True), True),
        (int, pa.int64(), np.int32(5), 5),
        (float, pa.float64(), 5, 5.0),
        (float, pa.float64(), np.float32(0.5), 0.5),
        (str, pa.string(), "a", "a"),
        (bytes, pa.binary(), bytearray(b"a"), b"a"),
        (Decimal, pa.decimal128(38, 18), 3, Decimal(3)),
        (Decimal, pa.decimal128(38, 2), Decimal(2) / 3, Decimal("0.67")),
        (Decimal, pa.decimal128(38, 2), Decimal("0.125"), Decimal("0.13")),
        (date, pa.date32(), date(2024, 5, 1), date(2024, 5, 1)),
        (datetime, UTC_TIME, datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)),
        (datetime, UTC_TIME, datetime(2024, 5, 1), datetime(2024, 5, 1, tzinfo=UTC)),  # noqa: DTZ001
        (timedelta, pa.duration("us"), timedelta(seconds=1), timedelta(seconds=1)),
        (Instant, UTC_TIME, 1_000_000, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (Instant, pa.int64(), 7, 7),
        (Instant, pa.int64(), INFINITY, None),
        (list[Instant], pa.list_(UTC_TIME), [0, INFINITY], [datetime(1970, 1, 1, tzinfo=UTC), None]),
        (list[float], pa.list_(pa.float64()), (1, None), [1.0, None]),
        (list[float], pa.list_(pa.float64()), np.array([1.0]), [1.0]),
        (frozenset[int], pa.list_(pa.int64()), frozenset({1}), [1]),
        (
            dict[str, list[int]],
            pa.map_(pa.string(), pa.list_(pa.int64())),
            {"a": [1], "b": None},
            [("a", [1]), ("b", None)],
        ),
        (Span, SPAN, Span(1, 2.5), {"low": 1.0, "high": 2.5}),
        (NamedSpan, SPAN, NamedSpan(1, 2.5), {"low": 1.0, "high": 2.5}),
        (DictSpan, SPAN, {"high": 2.5, "low": 1}, {"low": 1.0, "high": 2.5}),
        (Span, SPAN, {"high": None, "low": 1}, {"low": 1.0, "high": None}),
        (tuple[float, float], pa.struct([("_1", pa.float64()), ("_2", pa.float64())]), (1, 2), {"_1": 1.0, "_2": 2.0}),
        (list[Span], pa.list_(SPAN), [Span(1, 2), None], [{"low": 1.0, "high": 2.0}, None]),
    ],
)
def test_a_value_of_the_declared_type_goes_in_and_none_becomes_null(
    annotation: Any, arrow_type: pa.DataType, value: Any, expected: Any
) -> None:
    unheld: list[object] = []
    array = to_arrow([value, None], describe(annotation, "m"), arrow_type, unheld)
    array.validate(full=True)
    assert array.type == arrow_type
    assert array.to_pylist() == [expected, None]
    assert unheld == []


def test_nan_and_infinity_stay_themselves_in_a_column_of_floats() -> None:
    first, second = to_arrow([math.nan, math.inf], describe(float), pa.float64()).to_pylist()
    assert math.isnan(first)
    assert second == math.inf


@pytest.mark.parametrize(
    ("annotation", "arrow_type", "value", "offender"),
    [
        (bool, pa.bool_(), 1, "1"),
        (int, pa.int64(), 1.0, "1.0"),
        (int, pa.int64(), True, "True"),
        (float, pa.float64(), "1", "'1'"),
        (float, pa.float64(), True, "True"),
        (str, pa.string(), b"a", "b'a'"),
        (str, pa.string(), "\ud800", r"'\\ud800'"),
        (bytes, pa.binary(), "a", "'a'"),
        (Decimal, pa.decimal128(38, 18), 1.5, "1.5"),
        (date, pa.date32(), datetime(2024, 5, 1, tzinfo=UTC), "datetime"),
        (datetime, UTC_TIME, 5, "5"),
        (Instant, UTC_TIME, 1.5, "1.5"),
        (list[int], pa.list_(pa.int64()), [1, "a"], "'a'"),
        (list[str], pa.list_(pa.string()), "abc", "'abc'"),
        (list[int], pa.list_(pa.int64()), 5, "5"),
        (dict[str, int], pa.map_(pa.string(), pa.int64()), [("a", 1)], "'a'"),
        (dict[str, int], pa.map_(pa.string(), pa.int64()), {None: 1}, "null as a key"),
        (dict[int, int], pa.map_(pa.int64(), pa.int64()), {2**63: 1}, "9223372036854775808 .* as a key"),
        (Span, SPAN, Low(1.0), "'high'"),
        (Span, SPAN, (1.0, 2.0, 3.0), "3 parts"),
        (Span, SPAN, {"low": 1.0}, "'high'"),
        (Span, SPAN, Span("a", 1), "'m.low'"),  # type: ignore[arg-type]
        (Span, SPAN, 5, "5"),
    ],
)
def test_an_error_names_the_value_or_the_part_of_it_that_is_not_of_the_declared_type(
    annotation: Any, arrow_type: pa.DataType, value: Any, offender: str
) -> None:
    with pytest.raises(MisfitError, match=offender):
        to_arrow([None, value], describe(annotation, "m"), arrow_type)


class Interrupted(list[str]):
    """Values that a user interrupts while they are iterated over for the second time.

    The first time, their classes are looked at; the second time, they are converted.
    """

    was_iterated = False

    def __iter__(self) -> Iterator[str]:
        if self.was_iterated:
            raise KeyboardInterrupt
        self.was_iterated = True
        return super().__iter__()


def test_an_interrupt_during_the_conversion_is_not_taken_for_a_misfit() -> None:
    with pytest.raises(KeyboardInterrupt):
        to_arrow(Interrupted(["a", "b"]), describe(str), pa.string())


def test_a_task_that_is_interrupted_while_a_number_is_fitted_blames_no_value() -> None:
    class Number(float):
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_arrow([Number(1.5)], describe(float), pa.float64())


def test_a_mapping_of_a_subclass_of_dict_is_a_map() -> None:
    class Counts(dict[str, int]):
        pass

    array = to_arrow([Counts(a=1)], describe(dict[str, int]), pa.map_(pa.string(), pa.int64()))
    assert array.to_pylist() == [[("a", 1)]]


@pytest.mark.parametrize(
    ("annotation", "arrow_type", "value", "expected"),
    [
        (int, pa.int64(), 2**63 - 1, 2**63 - 1),
        (int, pa.int64(), -(2**63), -(2**63)),
        (Decimal, pa.decimal128(5, 2), Decimal("999.994"), Decimal("999.99")),
    ],
)
def test_the_largest_values_of_a_column_are_held(
    annotation: Any, arrow_type: pa.DataType, value: Any, expected: Any
) -> None:
    unheld: list[object] = []
    array = to_arrow([value], describe(annotation, "m"), arrow_type, unheld)
    assert array.to_pylist() == [expected]
    assert unheld == []


@pytest.mark.parametrize(
    ("annotation", "arrow_type", "value", "expected"),
    [
        (int, pa.int64(), 2**63, None),
        (int, pa.int64(), -(2**63) - 1, None),
        (int, pa.int32(), 2**31, None),
        (Instant, UTC_TIME, -(2**70), None),
        (Decimal, pa.decimal128(38, 18), Decimal("1e20"), None),
        (Decimal, pa.decimal128(38, 18), Decimal("1e90"), None),
        (Decimal, pa.decimal128(38, 18), Decimal("NaN"), None),
        (Decimal, pa.decimal128(38, 18), Decimal("-Infinity"), None),
        (Decimal, pa.decimal128(5, 2), Decimal("999.995"), None),
        (timedelta, pa.duration("us"), timedelta.max, None),
        (float, pa.float64(), 10**400, math.inf),
        (float, pa.float64(), Fraction(-(10**400)), -math.inf),
    ],
)
def test_a_value_beyond_what_its_column_holds_becomes_null_or_infinite_and_is_reported(
    annotation: Any, arrow_type: pa.DataType, value: Any, expected: Any
) -> None:
    unheld: list[object] = []
    array = to_arrow([value], describe(annotation, "m"), arrow_type, unheld)
    assert array.to_pylist() == [expected]
    assert list(map(repr, unheld)) == [repr(value)]  # by repr, since a NaN is not equal to itself


def test_only_the_part_of_a_list_that_its_column_cannot_hold_becomes_null() -> None:
    unheld: list[object] = []
    array = to_arrow([[1, 2**64]], describe(list[int], "m"), pa.list_(pa.int64()), unheld)
    assert array.to_pylist() == [[1, None]]
    assert unheld == [2**64]


@pytest.mark.parametrize(
    ("annotation", "arrow_type", "value"),
    [
        (int, pa.int64(), np.int64(3)),
        (int, pa.int64(), np.float64(3)),
        (int, pa.int64(), True),
        (int, pa.int64(), None),
        (bool, pa.bool_(), np.bool_(True)),
        (bool, pa.bool_(), np.int64(1)),
        (float, pa.float64(), np.float32(0.5)),
        (float, pa.float64(), np.int8(1)),
        (float, pa.float64(), np.bool_(True)),
        (float, pa.float64(), Fraction(1, 3)),
        (float, pa.float64(), Decimal(1)),
        (float, pa.float64(), None),
        (Decimal, pa.decimal128(38, 2), 3),
        (Decimal, pa.decimal128(38, 2), np.int64(3)),
        (str, pa.string(), np.int64(3)),
        (list[int], pa.list_(pa.int64()), [np.int64(3), None]),
        (dict[str, float], pa.map_(pa.string(), pa.float64()), {"a": None}),
        (dict[str, float], pa.map_(pa.string(), pa.float64()), {None: 1.0}),
        (Span, SPAN, Span(np.float64(1), None)),  # type: ignore[arg-type]  # that is the point
        (Span, SPAN, None),
    ],
    ids=lambda argument: str(argument).replace("class ", ""),
)
def test_the_laws_of_modules_accept_the_results_that_a_column_accepts(
    annotation: Any, arrow_type: pa.DataType, value: Any
) -> None:
    """NumPy's numbers and None mean the same where a module is tried and where it runs."""
    field = describe(annotation)
    accepted_by_laws = misfit(field, value, is_result=True) is None
    accepted_by_column = first_misfit([value], field, arrow_type) is None
    assert accepted_by_laws == accepted_by_column
