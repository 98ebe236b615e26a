"""Columnar aggregates that keep every law, one for each thing that a columnar aggregate may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import numpy as np

from muntin import ColumnarAggregate, Component, IncrementalAggregate
from muntin.columnar import Ragged
from muntin.schemas import Field, Scalar
from tests.sdk.module_classes import module_class

Arrays = Mapping[str, Any]


class Total(ColumnarAggregate[int, int]):
    name, version = "demo.total", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum("int64")}

    def lift(self, payloads: Any) -> Arrays:
        return {"total": payloads}

    def compute_results(self, components: Arrays) -> Any:
        return components["total"]


class Mean(ColumnarAggregate[float, float]):
    name, version = "demo.mean", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum(), "count": Component.count()}

    def lift(self, payloads: Any) -> Arrays:
        return {"total": payloads}

    def compute_results(self, components: Arrays) -> Any:
        return components["total"] / components["count"]


Histogram = module_class(
    ColumnarAggregate[float, list[int]],
    name="demo.histogram",
    components=lambda self: {"bins": Component.sum("int64", shape=(8,))},
    lift=lambda self, payloads: {"bins": np.eye(8, dtype="int64")[np.clip(payloads // 256 + 4, 0, 7).astype("int64")]},
    compute_results=lambda self, components: np.fromiter(components["bins"].tolist(), object),
)
"""The counts of eight bins of 256 each; values beyond the ends are in the first and the last bin."""


def merged_moments(first: Any, second: Any) -> Any:
    """Merge rows of a count, a mean and the sum of squared distances from the mean, after Chan et al. (1979)."""
    count, mean, squares = first.T
    other_count, other_mean, other_squares = second.T
    total_count = count + other_count
    distance = other_mean - mean
    share = np.divide(other_count, total_count, out=np.zeros_like(total_count), where=total_count > 0)
    merged_mean = mean + distance * share
    merged_squares = squares + other_squares + distance * distance * count * share
    return np.stack([total_count, merged_mean, merged_squares], axis=1)


Variance = module_class(
    ColumnarAggregate[float, float],
    name="demo.variance",
    components=lambda self: {"moments": Component.merged(merged_moments, 0.0, shape=(3,))},
    lift=lambda self, payloads: {
        "moments": np.stack([np.ones_like(payloads), payloads, np.zeros_like(payloads)], axis=1)
    },
    compute_results=lambda self, components: components["moments"][:, 2] / components["moments"][:, 0],
)


LogSum = module_class(
    ColumnarAggregate[float, float],
    name="demo.log_sum",
    components=lambda self: {"log": Component.merged(np.logaddexp, float("-inf"))},
    lift=lambda self, payloads: {"log": payloads},
    compute_results=lambda self, components: components["log"],
)


def lower_median(self: object, components: Arrays) -> Any:
    """Return the lower median of each window, whose values are sorted."""
    values: Ragged = components["values"]
    places = values.offsets[:-1] + (values.counts - 1) // 2
    return values.values[places]


Median = module_class(
    ColumnarAggregate[float, float],
    name="demo.median",
    components=lambda self: {"values": Component.values()},
    lift=lambda self, payloads: {"values": payloads},
    compute_results=lower_median,
)


def distinct_count(self: object, components: Arrays) -> Any:
    """Count the words of each window that differ from the word before them; they are sorted."""
    words: Ragged = components["words"]
    first_places = words.offsets[:-1]
    is_new = np.r_[True, words.values[1:] != words.values[:-1]].astype("int64")
    is_new[first_places] = 1  # whatever the last word of the window before it is
    return np.add.reduceat(is_new, first_places)


Words = module_class(
    ColumnarAggregate[str, int],
    name="demo.words",
    components=lambda self: {"words": Component.values("object")},
    lift=lambda self, payloads: {"words": payloads},
    compute_results=distinct_count,
)
"""The number of different words."""


Earliest = module_class(
    ColumnarAggregate[datetime, datetime],
    name="demo.earliest",
    components=lambda self: {"earliest": Component.min("datetime64[us]")},
    lift=lambda self, payloads: {"earliest": payloads},
    compute_results=lambda self, components: components["earliest"],
)


@dataclass(frozen=True)
class Stay:
    day: date
    length: timedelta | None


Busiest = module_class(
    ColumnarAggregate[Stay | None, timedelta | None],
    name="demo.busiest",
    components=lambda self: {"last": Component.max("datetime64[D]"), "length": Component.sum("timedelta64[us]")},
    lift=lambda self, payloads: {"last": payloads["day"], "length": payloads["length"]},
    compute_results=lambda self, components: np.ma.MaskedArray(
        components["length"], components["last"] >= np.datetime64("2039-01-01")
    ),
)
"""The length of all stays together, or null if one begins in 2039 or later."""


@dataclass(frozen=True)
class Reading:
    value: float
    weight: float


WeightedMean = module_class(
    ColumnarAggregate[Reading, float],
    name="demo.weighted_mean",
    components=lambda self: {"weighted": Component.sum(), "weight": Component.sum()},
    lift=lambda self, payloads: {"weighted": payloads["value"] * payloads["weight"], "weight": payloads["weight"]},
    compute_results=lambda self, components: components["weighted"] / components["weight"],
)


class NullShare(ColumnarAggregate[float | None, float]):
    """The share of nulls among the payloads, which come as masked arrays."""

    name, version = "demo.null_share", "1.0.0"
    skips_nulls: ClassVar[bool] = False

    def components(self) -> Mapping[str, Component]:
        return {"nulls": Component.sum("int64"), "count": Component.count()}

    def lift(self, payloads: Any) -> Arrays:
        return {"nulls": np.ma.getmaskarray(payloads)}

    def compute_results(self, components: Arrays) -> Any:
        return components["nulls"] / components["count"]


Bits = module_class(
    ColumnarAggregate[int, tuple[int, int, int]],
    name="demo.bits",
    components=lambda self: {
        "all": Component.bit_and(),
        "any": Component.bit_or(),
        "odd": Component.merged(lambda a, b: a ^ b, 0, "int64", inverse=lambda a, b: a ^ b),
    },
    lift=lambda self, payloads: dict.fromkeys(("all", "any", "odd"), payloads),
    compute_results=lambda self, components: np.fromiter(
        zip(*(components[name].tolist() for name in ("all", "any", "odd")), strict=True), object
    ),
)
"""The bits that all payloads have, those that any has, and those that an odd number of payloads has."""


class Count(ColumnarAggregate[Any, int]):
    """The number of payloads that are not null; it lifts nothing."""

    name, version = "demo.count", "1.0.0"
    empty_result: ClassVar[Any] = 0

    def components(self) -> Mapping[str, Component]:
        return {"count": Component.count()}

    def lift(self, payloads: Any) -> Arrays:
        raise AssertionError("there is nothing to lift")

    def compute_results(self, components: Arrays) -> Any:
        return components["count"]


Account = module_class(
    ColumnarAggregate[Decimal, Decimal],
    name="demo.account",
    components=lambda self: {"balance": Component.sum("object")},
    lift=lambda self, payloads: {"balance": payloads},
    compute_results=lambda self, components: components["balance"],
)


N = TypeVar("N")


class Sum(IncrementalAggregate[N, list[N], N]):
    """A sum of payloads that can be added and ordered, with a columnar form for some kinds of scalars."""

    name, version = "demo.sum", "1.0.0"

    def __init__(self, **forms: ColumnarAggregate[Any, Any]) -> None:
        self.forms = forms

    def create_state(self) -> list[N]:
        return []

    def add_events(self, state: list[N], payloads: Sequence[N]) -> list[N]:
        return [*state, *payloads]

    def compute_result(self, state: list[N]) -> N:
        least, *larger = sorted(state)  # type: ignore[type-var]  # whatever can be added can be ordered here
        return sum(larger, least)  # type: ignore[call-overload,no-any-return]  # as above

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        return self.forms.get(reads.type.kind) if isinstance(reads.type, Scalar) else None


class FloatTotal(Total):
    """A sum of floats: the columnar form of a module gets the payloads of that module, whatever its own input says."""

    name = "demo.float_total"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum()}
