"""Bounds on how far apart the times of two joined points are: the conditions of Flink's interval joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sqlglot import exp

from muntin import ticks
from muntin.axis import spell_ticks
from muntin_engine.sql_text.sql_source import SqlText
from muntin_engine.sql_text.sql_values import column_of, stream_of, text_of, value_of
from muntin_engine.sql_text.step_forms import Steps
from muntin_engine.sql_text.stream_reading import SqlStream

_COMPARISONS: Final = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ)


class _Length(NamedTuple):
    """The lengths in a sum: intervals where the axis is time, bare numbers elsewhere. One of the two is zero.

    Attributes:
        microseconds: The intervals.
        number: The bare numbers, where the axis is not time.
    """

    microseconds: int
    number: int | Decimal


@dataclass(frozen=True)
class _TimeSum:
    """A sum of times and lengths, such as `r.paid - l.placed - INTERVAL '1' HOUR`.

    Attributes:
        left: The number of times that the time of the left stream is added; negative if it is subtracted.
        right: The number of times that the time of the right stream is added; negative if it is subtracted.
        microseconds: The intervals that are added.
        number: The bare numbers that are added, where the axis is not time.
    """

    left: int = 0
    right: int = 0
    microseconds: int = 0
    number: int | Decimal = 0

    def plus(self, other: _TimeSum) -> _TimeSum:
        """Return the sum of this and another sum."""
        return _TimeSum(
            left=self.left + other.left,
            right=self.right + other.right,
            microseconds=self.microseconds + other.microseconds,
            number=self.number + other.number,
        )

    def negated(self) -> _TimeSum:
        """Change all signs."""
        return _TimeSum(-self.left, -self.right, -self.microseconds, -self.number)

    @property
    def length(self) -> _Length:
        """The lengths that are added to the times."""
        return _Length(self.microseconds, self.number)


@dataclass(frozen=True)
class _Bound:
    """A bound of the difference between the time of a right point and that of a left point.

    Attributes:
        length: The least or the largest difference.
        is_strict: True if the difference must not be equal to the bound.
        node: The node of the condition that sets the bound.
    """

    length: _Length
    is_strict: bool
    node: Any


@dataclass
class TimeBounds:
    """The bounds that the conditions of a join set on the times of its points: `r.t BETWEEN l.t - x AND l.t + y`.

    Attributes:
        source: The text.
        left: The left stream.
        right: The right stream.
        least: The lower bounds of the difference, the right time minus the left time.
        most: The upper bounds of this difference.
    """

    source: SqlText
    left: SqlStream
    right: SqlStream
    least: list[_Bound] = field(default_factory=list)
    most: list[_Bound] = field(default_factory=list)

    def reads_both_times(self, node: Any) -> bool:
        """Return True if a condition reads the times of both streams, which only streams of points have."""
        columns = list(node.find_all(exp.Column))
        has_left = any(_is_time(column, self.left) for column in columns)
        has_right = any(_is_time(column, self.right) for column in columns)
        return has_left and has_right

    def add(self, node: Any) -> None:
        """Add the bounds that a condition on both times sets.

        Raises:
            SqlError: The condition does not compare times and lengths.
        """
        comparisons = list(self._comparisons(node))
        if not comparisons:
            fact = f"{text_of(node)} does not say how far apart the times may be"
            raise self.source.error(node, fact, self._advice())
        for difference, is_strict in comparisons:
            if (difference.left, difference.right) == (-1, 1):
                # `right - left + length >= 0`, so `right - left >= -length`
                self.least.append(_Bound(difference.negated().length, is_strict, node))
            elif (difference.left, difference.right) == (1, -1):
                # `left - right + length >= 0`, so `right - left <= length`
                self.most.append(_Bound(difference.length, is_strict, node))
            else:
                fact = f"{text_of(node)} does not compare the time of one stream with that of the other"
                raise self.source.error(node, fact, self._advice())

    def steps(self) -> Steps:
        """Return the steps by which a right point lasts as long as left points may meet it; none without bounds.

        A right point at `t` meets left points from `t - most` to `t - least`, both included, so it becomes an event
        over these ticks. Left points stay as they are: each pair is at the time of its left point.

        Raises:
            SqlError: The lower or the upper bound is missing, no time is between them, or one of them is an interval
                and another one a number.
        """
        if not self.least and not self.most:
            return []
        if not self.least or not self.most:
            node = (self.least or self.most)[0].node
            fact = f"{text_of(node)} bounds the time of {self.right.alias} on one side, so rows would be kept for ever"
            raise self.source.error(node, fact, self._advice())

        # All bounds have to be in the same unit: a bound of zero is in both.
        is_time = any(bound.length.microseconds for bound in (*self.least, *self.most))
        is_number = any(bound.length.number for bound in (*self.least, *self.most))
        if is_time and is_number:
            node = next(bound.node for bound in (*self.most, *self.least) if bound.length.number)
            fact = f"{text_of(node)} has a bare number, and another bound has an interval"
            raise self.source.error(node, fact, "write both as intervals, or both as numbers")

        # Of several bounds the tightest ones count.
        least = max(self._included(bound, is_time=is_time, inwards=1) for bound in self.least)
        most = min(self._included(bound, is_time=is_time, inwards=-1) for bound in self.most)
        if least > most:
            node = self.most[0].node
            raise self.source.error(node, f"no time is between the bounds of {self.right.alias}", self._advice())

        # The right point moves back by the upper bound to its first tick, and is extended from there to its last one.
        steps: Steps = []
        if most:
            shift = _spelled(-most, is_time=is_time)
            steps.append({"shift": self.source.mark({"by": shift}, self.most[0].node)})
        if most > least:
            extension = _spelled(most - least, is_time=is_time)
            steps.append({"extend": self.source.mark({"by": extension}, self.least[0].node)})
        return steps

    def _comparisons(self, node: Any) -> Iterator[tuple[_TimeSum, bool]]:
        """Yield the differences that a condition makes zero or more, each with True if the difference may not be zero.

        `a BETWEEN b AND c` has two of them, `a - b` and `c - a`. A condition that is no comparison of sums has none.
        """
        if isinstance(node, exp.Between):
            yield from self._not_less(node.this, node.args["low"])
            yield from self._not_less(node.args["high"], node.this)
        elif isinstance(node, _COMPARISONS):
            is_strict = isinstance(node, exp.GT | exp.LT)
            if isinstance(node, exp.GT | exp.GTE | exp.EQ):
                yield from self._not_less(node.this, node.expression, is_strict=is_strict)
            if isinstance(node, exp.LT | exp.LTE | exp.EQ):
                yield from self._not_less(node.expression, node.this, is_strict=is_strict)

    def _not_less(self, larger: Any, smaller: Any, *, is_strict: bool = False) -> Iterator[tuple[_TimeSum, bool]]:
        """Yield `larger - smaller` with `is_strict`; nothing if one of the two is no sum of times and lengths."""
        above = self._sum(larger)
        below = self._sum(smaller)
        if above is not None and below is not None:
            yield above.plus(below.negated()), is_strict

    def _sum(self, node: Any) -> _TimeSum | None:
        """Return an expression as a sum of times and lengths; None if it has other parts."""
        node = node.unnest()
        match node:
            case exp.Column() if _is_time(node, self.left):
                return _TimeSum(left=1)
            case exp.Column() if _is_time(node, self.right):
                return _TimeSum(right=1)
            case exp.Interval():
                return _TimeSum(microseconds=ticks(value_of(node, self.source)))
            case exp.Literal(is_string=False):
                value = value_of(node, self.source)
                return _TimeSum(number=value if isinstance(value, int) else Decimal(str(value)))
            case exp.Neg():
                negated = self._sum(node.this)
                return None if negated is None else negated.negated()
            case exp.Add() | exp.Sub():
                first = self._sum(node.this)
                second = self._sum(node.expression)
                if first is None or second is None:
                    return None
                if isinstance(node, exp.Sub):
                    second = second.negated()
                return first.plus(second)
        return None

    def _included(self, bound: _Bound, *, is_time: bool, inwards: int) -> int | Decimal:
        """Return the outermost difference that a bound allows: the bound itself, or one tick further in if strict.

        Args:
            bound: The bound.
            is_time: True if bounds are intervals.
            inwards: The direction from the bound to allowed differences: 1 for a lower bound, -1 for an upper one.

        Raises:
            SqlError: The bound is strict, and bounds are decimals, which have no next one.
        """
        length = bound.length.microseconds if is_time else bound.length.number
        if not bound.is_strict:
            return length
        if any(isinstance(other.length.number, Decimal) for other in (*self.least, *self.most)):
            fact = "a decimal has no next one, so a bound over decimals is included"
            raise self.source.error(bound.node, fact, self._advice(length="2.5"))
        return length + inwards

    def _advice(self, length: str = "INTERVAL '1' HOUR") -> str:
        """Return the advice to write both bounds, with a length in SQL as the example."""
        left = f"{self.left.alias}.{self.left.time}"
        right = f"{self.right.alias}.{self.right.time}"
        return f"write {right} BETWEEN {left} - {length} AND {left} + {length}"


def _is_time(column: Any, stream: SqlStream) -> bool:
    """Return True if a column is that of the times of a stream, whose events are points."""
    if stream.point_time is None or stream_of(column) != stream.alias.casefold():
        return False
    return column_of(column, after=1).casefold() == stream.point_time.casefold()


def _spelled(length: int | Decimal, *, is_time: bool) -> str | int | Decimal:
    """Return a length as an argument in a query's data: as text if it is a time in microseconds, else as a number."""
    return spell_ticks(int(length)) if is_time else length
