"""Quantiles within an error bound, from little memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, nan
from typing import Any, ClassVar

from muntin import IncrementalAggregate
from muntin_stats.order import ordinary, present
from muntin_stats.parameters import share, whole_number
from muntin_stats.sketch_library import sketch_library


@dataclass(frozen=True, slots=True)
class Sketched:
    """A sketch of floats.

    Attributes:
        sketch: KLL sketch of the floats that are not NaN, in the format that all DataSketches libraries share; empty if
            there are none.
        nans: Number of NaNs.
    """

    sketch: bytes = b""
    nans: int = 0


class ApproximateQuantile(IncrementalAggregate[float | None, Sketched, float | None]):
    """Return a member whose rank is close to a share `q` of a window's members.

    With n members in order, ranked from 1, the exact answer has the rank `ceil(q * n)`, or 1 for `q=0`. The result is
    a member whose rank differs from that by at most a share of n, with a probability of 99 %: 1.33 % for `k=200`,
    0.35 % for `k=800`. The smallest and the largest are always exact. There is no interpolation.

    Args:
        q: Share, from 0 (the smallest) to 1 (the largest).
        k: Size of the sketch, from 8 to 65535. Twice the size halves the error.

    Types: float to float.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number.

    Laws: a sketch of up to `k` members holds all of them, so all laws hold to the bit. Beyond that it drops half of a
        level by the toss of a coin, and so two orders of the same members, two trees of merges, and two runs give
        results that differ; what holds is that each lies within the bound, whatever the order or the tree. There is
        no removing, so the engine uses slices, or rebuilds.

    Cost: up to about `24 * k + 600` bytes per window: 5 kB for `k=200`, whatever the number of members. A call reads
        and writes the sketch, in 3 microseconds, and takes 0.1 more per payload. Merging two sketches takes 5, a result
        8.

    Source: Z. Karnin, K. Lang and E. Liberty, Optimal Quantile Approximation in Streams, FOCS 2016, section 4, as
        implemented by Apache DataSketches.

    Example:
        >>> upper = ApproximateQuantile(q=0.9)
        >>> state = upper.add_events(upper.create_state(), [float(value) for value in range(100)])
        >>> upper.compute_result(state)
        89.0
    """

    name, version = "stats.approximate_quantile", "0.1.0"
    aliases: ClassVar[tuple[str, ...]] = ("approx_quantile", "approx_percentile", "percentile_approx")

    def __init__(self, q: float, k: int = 200) -> None:
        self.q = share("q", q)
        self.k = whole_number("k", k, least=8, most=65535)
        sketch_library()

    @property
    def exact_up_to(self) -> int:  # type: ignore[override]  # a class has one number, this one depends on k
        """The number of members that a sketch holds unabridged."""
        return self.k

    @property
    def state_bytes(self) -> int:  # type: ignore[override]  # a class has one number, this one depends on k
        """The approximate size of the state of a large window: three times `k` floats, and a few for small levels."""
        return 24 * self.k + 600

    def create_state(self) -> Sketched:
        """Return an empty sketch."""
        return Sketched()

    def add_events(self, state: Sketched, payloads: Sequence[float | None]) -> Sketched:
        """Return the sketch with more members."""
        values = present(payloads)
        numbers = ordinary(values)
        nans = state.nans + len(values) - len(numbers)
        sketch = self._updated(state.sketch, numbers) if numbers else state.sketch
        return Sketched(sketch, nans)

    def combine(self, state: Sketched, other: Sketched) -> Sketched:
        """Return the sketch of the members of both states."""
        return Sketched(_merged(state.sketch, other.sketch), state.nans + other.nans)

    def compute_result(self, state: Sketched) -> float | None:
        """Return the member with the rank that is closest, as far as the sketch knows."""
        sketch = _read(state.sketch) if state.sketch else None
        number_count = sketch.n if sketch else 0
        if not number_count + state.nans:
            return None
        rank = max(1, ceil(self.q * (number_count + state.nans)))  # counted from 1, NaNs last
        if sketch is None or rank > number_count:
            return nan  # NaNs come behind all numbers
        return _ranked(sketch, rank)

    def _updated(self, sketch: bytes, numbers: Sequence[float]) -> bytes:
        """Return a sketch with more numbers, none of which is NaN; an empty sketch is no bytes."""
        import numpy as np  # only sketches and array forms need it

        updated = _read(sketch) if sketch else sketch_library().kll_doubles_sketch(self.k)
        updated.update(np.array(numbers, np.float64))
        return _written(updated)


def _ranked(sketch: Any, rank: int) -> float:
    """Return the member of a rank, counted from 1."""
    if rank == 1:
        return float(sketch.get_min_value())
    if rank == sketch.n:
        return float(sketch.get_max_value())
    # Half a rank below the edge, where an error of rounding would lead to the next member.
    return float(sketch.get_quantile((rank - 0.5) / sketch.n, inclusive=True))


def _merged(first: bytes, second: bytes) -> bytes:
    """Return the sketch of the numbers of two; a sketch without numbers is no bytes."""
    if not (first and second):
        return first or second
    merged = _read(first)
    merged.merge(_read(second))
    return _written(merged)


def _read(sketch: bytes) -> Any:
    """Return the sketch of a state."""
    return sketch_library().kll_doubles_sketch.deserialize(sketch)


def _written(sketch: Any) -> bytes:
    """Return a sketch as a state."""
    data: bytes = sketch.serialize()
    return data
