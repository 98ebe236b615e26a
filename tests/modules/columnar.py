"""Columnar aggregates of every kind, with results that are exact, so that evaluators can be compared to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf, isfinite, nan
from typing import Any

import numpy as np

from muntin import Aggregate, ColumnarAggregate, Component


def component_rows(names: Iterable[str], components: Mapping[str, Any], show: Callable[[float], Any]) -> Any:
    """Return all components of each window as a tuple.

    Args:
        names: The names of the components, in the order of the tuple; vectors are spread out.
        components: The components, each with a number or a vector per window.
        show: Function from a number to what the tuple has of it.
    """
    columns = [components[name].reshape(len(components[name]), -1) for name in names]
    rows = np.concatenate(columns, axis=1).tolist()
    results = np.empty(len(rows), object)
    results[:] = [tuple(map(show, row)) for row in rows]
    return results


class Everything(ColumnarAggregate[int | None, list[int]]):
    """All payloads, so that a member too many or too few shows."""

    name, version = "test.every", "1"

    def components(self) -> Mapping[str, Component]:
        return {"values": Component.values("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"values": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        values = components["values"].values
        offsets = components["values"].offsets
        results = np.empty(len(offsets) - 1, object)
        results[:] = [tuple(values[start:stop].tolist()) for start, stop in pairwise(offsets)]
        return results


class Statistics(ColumnarAggregate[int | None, list[float]]):
    """A component of each kind: with and without an inverse, numbers and vectors, Muntin's and the writer's own."""

    name, version = "test.statistics", "1"

    def components(self) -> Mapping[str, Component]:
        return {
            "count": Component.count(),
            "whole": Component.sum("int64"),
            "total": Component.sum(),
            "least": Component.min("int64"),
            "most": Component.max("float64"),
            "bits": Component.bit_or("int64"),
            "histogram": Component.sum("int64", shape=(4,)),
            "lowest": Component.min("float64", shape=(2,)),
            "longest": Component.merged(longest, [0, 0], "int64", shape=(2,)),
            "parity": Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor),
        }

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {
            "whole": payloads,
            "total": payloads / 2,
            "least": payloads,
            "most": payloads.astype(float),
            "bits": np.abs(payloads),
            "histogram": np.eye(4, dtype="int64")[payloads % 4],
            "lowest": np.stack([payloads, -payloads], axis=1).astype(float),
            "longest": np.stack([np.abs(payloads), payloads], axis=1),
            "parity": payloads,
        }

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return component_rows(self.components(), components, show=float)


class Sums(ColumnarAggregate[int | None, list[float]]):
    """A component of each kind that can be subtracted: numbers that wrap around, floats and vectors."""

    name, version = "test.sums", "1"

    def components(self) -> Mapping[str, Component]:
        return {
            "count": Component.count(),
            "whole": Component.sum("int64"),
            "total": Component.sum(),
            "mean": Component.mean("float32"),
            "wrapping": Component.sum("uint8"),
            "histogram": Component.sum("int64", shape=(4,)),
            "moments": Component.sum(shape=(2,)),
        }

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {
            "whole": payloads,
            "total": payloads / 2,
            "mean": payloads / 4,
            "wrapping": (payloads * 40).astype("uint8"),
            "histogram": np.eye(4, dtype="int64")[payloads % 4],
            "moments": np.stack([payloads / 8, payloads * payloads], axis=1),
        }

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return component_rows(self.components(), components, show=float)


class Nulls(ColumnarAggregate[int | None, int | None]):
    """How many payloads are null; null if none is."""

    name, version = "test.nulls", "1"
    skips_nulls = False

    def components(self) -> Mapping[str, Component]:
        return {"nulls": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"nulls": np.ma.getmaskarray(payloads).astype("int64")}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return np.ma.MaskedArray(components["nulls"], components["nulls"] == 0)


class Members(ColumnarAggregate[int | None, int]):
    """How many payloads are not null, which may be 0."""

    name, version = "test.members", "1"
    empty_result = 0

    def components(self) -> Mapping[str, Component]:
        return {"count": Component.count()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["count"]


class EverythingWithoutNulls(ColumnarAggregate[int, list[int]]):
    """All payloads, by a module that does not accept nulls."""

    name, version = "test.given", "1"
    components = Everything.components
    lift = Everything.lift
    compute_results = Everything.compute_results


def longest(first: Any, second: Any) -> Any:
    """Return the pair whose first number is larger, or else whose second is."""
    is_second = (second[:, 0] > first[:, 0]) | ((second[:, 0] == first[:, 0]) & (second[:, 1] > first[:, 1]))
    return np.where(is_second[:, None], second, first)


HOSTILE = (1e308, 1e308, -1e308, -1e308, 1e16, 1.0, -1e16, 5e-324, 0.1, -0.0, inf, -inf, nan, 2.0**970, -1e-300)
"""Floats that ordinary addition forgets, overflows on, or that decide a sum."""


class HostileSums(ColumnarAggregate[int | None, list[str]]):
    """Sums and means of floats that are told to the bit; a payload is the place of one."""

    name, version = "test.hostile_sums", "1"

    def components(self) -> Mapping[str, Component]:
        return {
            "total": Component.sum(),
            "mean": Component.mean(),
            "both": Component.sum(shape=(2,)),
            "short": Component.mean("float32"),
        }

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        values = np.array(HOSTILE)[payloads % len(HOSTILE)]
        return {"total": values, "mean": values, "both": np.stack([-values, values], 1), "short": payloads / 7}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return component_rows(self.components(), components, show=repr)


class PlainHostileSums(Aggregate[int | None, tuple[str, ...] | None]):
    """The results of `HostileSums`, computed by fractions: the oracle, which shares no code with the columnar form."""

    name, version = "test.plain_hostile_sums", "1"

    def compute_result(self, payloads: Sequence[int | None]) -> tuple[str, ...] | None:
        places = [place for place in payloads if place is not None]
        if not places:
            return None
        values = [HOSTILE[place % len(HOSTILE)] for place in places]
        total = exact_quotient(values, 1)
        mean = exact_quotient(values, len(values))
        opposite_total = exact_quotient([-value for value in values], 1)

        # Floats of 32 bits, as they come in and as they go out.
        short_values = [float(np.float32(place / 7)) for place in places]
        short_mean = float(np.float32(exact_quotient(short_values, len(places))))
        return tuple(map(repr, (total, mean, opposite_total, total, short_mean)))


def exact_quotient(values: Sequence[float], divisor: int) -> float:
    """Return a sum divided by a number, rounded once; a sum of both infinities, or with a NaN, is NaN."""
    not_finite = {repr(value) for value in values if not isfinite(value)}
    if not_finite:
        return float(not_finite.pop()) if len(not_finite) == 1 else nan
    exact = sum(map(Fraction, values), Fraction(0)) / divisor
    try:
        return float(exact) + 0.0  # which makes 0.0 of -0.0
    except OverflowError:
        return inf if exact > 0 else -inf


FORMS: dict[str, tuple[ColumnarAggregate[Any, Any], ...]] = {
    "everything": (Everything(),),
    "statistics": (Statistics(),),
    "counts": (Members(), Nulls()),
    "all": (Nulls(), Statistics(), Everything(), Members()),
    "hostile": (HostileSums(),),
}
"""Columnar aggregates by what they show."""

INVERTIBLE: dict[str, tuple[ColumnarAggregate[Any, Any], ...]] = {
    "sums": (Sums(),),
    "counts": FORMS["counts"],
    "several": (Nulls(), Sums(), Members()),
    "hostile": FORMS["hostile"],
}
"""Modules whose components can all be subtracted."""

ORACLES: dict[str, tuple[Aggregate[Any, Any], ...]] = {"hostile": (PlainHostileSums(),)}
"""Modules that compute the results of some of these in another way, and so say what is expected."""
