"""Aggregates of pairs of numbers, which know the sums of products of both coordinates exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import NamedTuple

from muntin_stats.exact import is_finite, over_one_denominator
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.number import M, N, Number
from muntin_stats.point import Point


@dataclass(slots=True)
class Products(Fieldwise):
    """The first two moments of points, exactly.

    Attributes:
        count: Number of points.
        not_finite_count: Number of points with a coordinate that is NaN or infinite, which are in no sum.
        x: Sum of x.
        y: Sum of y.
        xx: Sum of x times x.
        yy: Sum of y times y.
        xy: Sum of x times y.
    """

    count: int
    not_finite_count: int
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


class Coordinates(NamedTuple):
    """The coordinates of points as integers, each over one denominator, its unit.

    Attributes:
        size: Number of points.
        not_finite_count: Number of points with a coordinate that is NaN or infinite, whose coordinates are left out.
        xs: Numerators of x.
        x_unit: Denominator of x.
        ys: Numerators of y.
        y_unit: Denominator of y.
    """

    size: int
    not_finite_count: int
    xs: list[int]
    x_unit: int
    ys: list[int]
    y_unit: int

    @property
    def sum_x(self) -> Fraction:
        """The exact sum of x."""
        return Fraction(sum(self.xs), self.x_unit)

    @property
    def sum_y(self) -> Fraction:
        """The exact sum of y."""
        return Fraction(sum(self.ys), self.y_unit)

    @property
    def sum_xx(self) -> Fraction:
        """The exact sum of x times x."""
        return Fraction(sum(map(mul, self.xs, self.xs)), self.x_unit * self.x_unit)

    @property
    def sum_yy(self) -> Fraction:
        """The exact sum of y times y."""
        return Fraction(sum(map(mul, self.ys, self.ys)), self.y_unit * self.y_unit)

    @property
    def sum_xy(self) -> Fraction:
        """The exact sum of x times y."""
        return Fraction(sum(map(mul, self.xs, self.ys)), self.x_unit * self.y_unit)


def coordinates(payloads: Sequence[Point[N, M] | None]) -> Coordinates:
    """Return the coordinates of the points that have no null."""
    points: list[tuple[Number, Number]] = []
    for point in payloads:
        if point is not None and point.x is not None and point.y is not None:
            points.append((point.x, point.y))
    # Mostly all points are finite, and writing them as integers finds out.
    try:
        return _coordinates(points, not_finite_count=0)
    except (OverflowError, ValueError):  # an infinity or NaN
        finite = [(x, y) for x, y in points if is_finite(x) and is_finite(y)]
        return _coordinates(finite, not_finite_count=len(points) - len(finite))


def _coordinates(finite: Sequence[tuple[Number, Number]], not_finite_count: int) -> Coordinates:
    """Return finite points as integers over one denominator for each coordinate; the other points are only counted."""
    xs, x_unit = over_one_denominator([x for x, _ in finite])
    ys, y_unit = over_one_denominator([y for _, y in finite])
    return Coordinates(len(finite) + not_finite_count, not_finite_count, xs, x_unit, ys, y_unit)


class PairAggregate(GroupAggregate[Point[N, M] | None, Products, float | None]):
    """An aggregate of points that keeps their products; a subclass only computes its result. Nulls are skipped."""

    def lift(self, payloads: Sequence[Point[N, M] | None]) -> Products:
        """Return the products of points."""
        points = coordinates(payloads)
        return Products(
            count=points.size,
            not_finite_count=points.not_finite_count,
            x=points.sum_x,
            y=points.sum_y,
            xx=points.sum_xx,
            yy=points.sum_yy,
            xy=points.sum_xy,
        )
