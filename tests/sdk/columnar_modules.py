"""Columnar aggregates that keep every law, one per thing that they may do."""

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


class Histogram(ColumnarAggregate[float, list[int]]):
    """Eight bins; values beyond the ends are in the first and the last."""

    name, version = "demo.histogram", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"bins": Component.sum("int64", shape=(8,))}

    def lift(self, payloads: Any) -> Arrays:
        places = np.clip(payloads // 256 + 4, 0, 7).astype("int64")
        return {"bins": np.eye(8, dtype="int64")[places]}

    def compute_results(self, components: Arrays) -> Any:
        return np.fromiter(components["bins"].tolist(), object)


def chan(first: Any, second: Any) -> Any:
    """Merge counts, means and sums of squared distances from the mean."""
    (n, mean, squares), (m, other, more) = first.T, second.T
    total, delta = n + m, other - mean
    share = np.divide(m, total, out=np.zeros_like(total), where=total > 0)
    return np.stack([total, mean + delta * share, squares + more + delta * delta * n * share], axis=1)


class Variance(ColumnarAggregate[float, float]):
    name, version = "demo.variance", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"moments": Component.merged(chan, 0.0, shape=(3,))}

    def lift(self, payloads: Any) -> Arrays:
        return {"moments": np.stack([np.ones_like(payloads), payloads, np.zeros_like(payloads)], axis=1)}

    def compute_results(self, components: Arrays) -> Any:
        return components["moments"][:, 2] / components["moments"][:, 0]


class LogSum(ColumnarAggregate[float, float]):
    name, version = "demo.log_sum", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"log": Component.merged(np.logaddexp, float("-inf"))}

    def lift(self, payloads: Any) -> Arrays:
        return {"log": payloads}

    def compute_results(self, components: Arrays) -> Any:
        return components["log"]


class Median(ColumnarAggregate[float, float]):
    """The lower one of two."""

    name, version = "demo.median", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"values": Component.values()}

    def lift(self, payloads: Any) -> Arrays:
        return {"values": payloads}

    def compute_results(self, components: Arrays) -> Any:
        ragged: Ragged = components["values"]
        return ragged.values[ragged.offsets[:-1] + (ragged.counts - 1) // 2]


class Words(ColumnarAggregate[str, int]):
    """How many different ones there are."""

    name, version = "demo.words", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"words": Component.values("object")}

    def lift(self, payloads: Any) -> Arrays:
        return {"words": payloads}

    def compute_results(self, components: Arrays) -> Any:
        ragged: Ragged = components["words"]
        is_new = np.r_[True, ragged.values[1:] != ragged.values[:-1]].astype("int64")
        is_new[ragged.offsets[:-1]] = 1
        return np.add.reduceat(is_new, ragged.offsets[:-1])


class Earliest(ColumnarAggregate[datetime, datetime]):
    name, version = "demo.earliest", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"earliest": Component.min("datetime64[us]")}

    def lift(self, payloads: Any) -> Arrays:
        return {"earliest": payloads}

    def compute_results(self, components: Arrays) -> Any:
        return components["earliest"]


@dataclass(frozen=True)
class Stay:
    day: date
    length: timedelta | None


class Busiest(ColumnarAggregate[Stay | None, timedelta | None]):
    """How long all stays were together, up to the last day on which one began."""

    name, version = "demo.busiest", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"last": Component.max("datetime64[D]"), "length": Component.sum("timedelta64[us]")}

    def lift(self, payloads: Any) -> Arrays:
        return {"last": payloads["day"], "length": payloads["length"]}

    def compute_results(self, components: Arrays) -> Any:
        late = components["last"] >= np.datetime64("2039-01-01")
        return np.ma.MaskedArray(components["length"], late)


@dataclass(frozen=True)
class Reading:
    value: float
    weight: float


class WeightedMean(ColumnarAggregate[Reading, float]):
    name, version = "demo.weighted_mean", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"weighted": Component.sum(), "weight": Component.sum()}

    def lift(self, payloads: Any) -> Arrays:
        return {"weighted": payloads["value"] * payloads["weight"], "weight": payloads["weight"]}

    def compute_results(self, components: Arrays) -> Any:
        return components["weighted"] / components["weight"]


class NullShare(ColumnarAggregate[float | None, float]):
    name, version = "demo.null_share", "1.0.0"
    skips_nulls: ClassVar[bool] = False

    def components(self) -> Mapping[str, Component]:
        return {"nulls": Component.sum("int64"), "count": Component.count()}

    def lift(self, payloads: Any) -> Arrays:
        return {"nulls": np.ma.getmaskarray(payloads)}

    def compute_results(self, components: Arrays) -> Any:
        return components["nulls"] / components["count"]


class Bits(ColumnarAggregate[int, tuple[int, int, int]]):
    """The bits that all, any and an odd number of payloads have."""

    name, version = "demo.bits", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        odd = Component.merged(lambda a, b: a ^ b, 0, "int64", inverse=lambda a, b: a ^ b)
        return {"all": Component.bit_and(), "any": Component.bit_or(), "odd": odd}

    def lift(self, payloads: Any) -> Arrays:
        return dict.fromkeys(("all", "any", "odd"), payloads)

    def compute_results(self, components: Arrays) -> Any:
        rows = zip(*(components[name].tolist() for name in ("all", "any", "odd")), strict=True)
        return np.fromiter(rows, object)


class Count(ColumnarAggregate[Any, int]):
    """Counts payloads that are no null, and lifts nothing."""

    name, version = "demo.count", "1.0.0"
    empty_result: ClassVar[Any] = 0

    def components(self) -> Mapping[str, Component]:
        return {"count": Component.count()}

    def lift(self, payloads: Any) -> Arrays:
        raise AssertionError("there is nothing to lift")

    def compute_results(self, components: Arrays) -> Any:
        return components["count"]


class Account(ColumnarAggregate[Decimal, Decimal]):
    name, version = "demo.account", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"balance": Component.sum("object")}

    def lift(self, payloads: Any) -> Arrays:
        return {"balance": payloads}

    def compute_results(self, components: Arrays) -> Any:
        return components["balance"]


N = TypeVar("N")


class Sum(IncrementalAggregate[N, list[N], N]):
    """A sum of whatever can be added, with forms for some kinds of it."""

    name, version = "demo.sum", "1.0.0"

    def __init__(self, **forms: ColumnarAggregate[Any, Any]) -> None:
        self.forms = forms

    def create_state(self) -> list[N]:
        return []

    def add_events(self, state: list[N], payloads: Sequence[N]) -> list[N]:
        return [*state, *payloads]

    def compute_result(self, state: list[N]) -> N:
        first, *rest = sorted(state)  # type: ignore[type-var]  # whatever can be added can be ordered here
        return sum(rest, first)  # type: ignore[call-overload,no-any-return]  # as above

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        return self.forms.get(reads.type.kind) if isinstance(reads.type, Scalar) else None


class FloatTotal(Total):
    """As a form it gets floats, whatever its own input says."""

    name = "demo.float_total"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum()}
