"""Aggregates of pairs of numbers, which know the sums of products of both coordinates exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from operator import mul

from muntin_stats.exact import whole
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.point import Point


@dataclass(slots=True)
class Products(Fieldwise):
    """The first two moments of some points, exactly.

    Attributes:
        count: How many points.
        odd: How many of them have a coordinate that is NaN or infinite; these are in no sum.
        x: The sum of the others' x.
        y: The sum of their y.
        xx: The sum of their x times x.
        yy: The sum of their y times y.
        xy: The sum of their x times y.
    """

    count: int
    odd: int
    x: Fraction
    y: Fraction
    xx: Fraction
    yy: Fraction
    xy: Fraction

    @property
    def spread_of_x(self) -> Fraction:
        """The sum of the squared distances of x from their average."""
        return self.xx - self.x**2 / self.count

    @property
    def spread_of_y(self) -> Fraction:
        """The sum of the squared distances of y from their average."""
        return self.yy - self.y**2 / self.count

    @property
    def joint_spread(self) -> Fraction:
        """The sum of the products of both distances."""
        return self.xy - self.x * self.y / self.count


class PairAggregate(GroupAggregate[Point | None, Products, float | None]):
    """An aggregate of points that keeps their products; a subclass only computes its result. Nulls are skipped."""

    def lift(self, payloads: Sequence[Point | None]) -> Products:
        """Return the products of these alone."""
        points = [(p.x, p.y) for p in payloads if p is not None and p.x is not None and p.y is not None]
        finite = [(x, y) for x, y in points if isfinite(x) and isfinite(y)]
        xs, x_scale = whole([x for x, _ in finite])
        ys, y_scale = whole([y for _, y in finite])
        return Products(
            len(points),
            len(points) - len(finite),
            Fraction(sum(xs), 1 << x_scale),
            Fraction(sum(ys), 1 << y_scale),
            Fraction(sum(map(mul, xs, xs)), 1 << 2 * x_scale),
            Fraction(sum(map(mul, ys, ys)), 1 << 2 * y_scale),
            Fraction(sum(map(mul, xs, ys)), 1 << x_scale + y_scale),
        )
