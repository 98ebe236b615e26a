"""Quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ColumnarAggregate, IncrementalAggregate
from muntin.schemas import Field, ScalarKind
from muntin_stats.kinds import kind_of
from muntin_stats.number import N
from muntin_stats.order import present
from muntin_stats.parameters import share
from muntin_stats.ranking import Ranking


class Quantile(IncrementalAggregate[N | None, Ranking, float | None]):
    """Return the value that a share `q` of a window's members does not exceed.

    With n members in order, ranked from 0, it is the member at `q * (n - 1)`; between two ranks it is interpolated
    linearly between their values. This is NumPy's default, pandas' and Spark's `percentile`.

    Args:
        q: Share, from 0 (the smallest) to 1 (the largest).

    Types: float, int or Decimal to float. Between Decimals, and between ints of more than 53 bits, the result is
        computed exactly and rounded once. It is infinite where no float is near, as for an int of 400 digits.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; a result that would lie between a number and NaN is NaN.

    Laws: the state holds every value, so removing, combining and deducting are exact.

    Cost: memory for every member. Adding merges; removing a few searches for each, removing many passes once.

    Source: R. J. Hyndman and Y. Fan, Sample Quantiles in Statistical Packages, The American Statistician 50 (1996),
        definition 7.

    Example:
        >>> upper = Quantile(q=0.9)
        >>> upper.compute_result(upper.add_events(upper.create_state(), [10.0, None, 20.0]))
        19.0
    """

    name, version = "stats.quantile", "0.1.0"
    aliases = ("percentile", "percentile_cont")

    def __init__(self, q: float) -> None:
        self.q = share("q", q)

    def create_state(self) -> Ranking:
        """Return an empty ranking."""
        return Ranking()

    def add_events(self, state: Ranking, payloads: Sequence[N | None]) -> Ranking:
        """Insert payloads."""
        state.add(present(payloads))
        return state

    def remove_events(self, state: Ranking, payloads: Sequence[N | None]) -> Ranking:
        """Remove payloads."""
        state.remove(present(payloads))
        return state

    def combine(self, state: Ranking, other: Ranking) -> Ranking:
        """Merge the numbers of both states."""
        return Ranking(sorted(state.numbers + other.numbers), state.nans + other.nans)

    def deduct(self, state: Ranking, other: Ranking) -> Ranking:
        """Remove the numbers of another state."""
        state.remove(other.numbers)
        state.nans -= other.nans
        return state

    def compute_result(self, state: Ranking) -> float | None:
        """Return the quantile."""
        if not len(state):
            return None
        return state.quantile(self.q) + 0.0  # zero has no sign

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays, for floats and ints: all values in order."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.quantile import ColumnarQuantile, ColumnarQuantileOfIntegers

        return ColumnarQuantile(self.q) if kind is ScalarKind.FLOAT else ColumnarQuantileOfIntegers(self.q)
