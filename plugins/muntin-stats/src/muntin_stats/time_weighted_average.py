"""The average over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from operator import mul
from typing import Any

from muntin import ClipPolicy, ColumnarAggregate, Event, IncrementalAggregate, Window
from muntin.schemas import Field, ScalarKind
from muntin_stats.exact import is_finite, nearest, over_one_denominator
from muntin_stats.group import Fieldwise
from muntin_stats.kinds import kind_of
from muntin_stats.number import N, Number
from muntin_stats.total import count_not_finite, sum_of_not_finite


@dataclass(slots=True)
class Weighted(Fieldwise):
    """Payloads times lifetimes.

    Attributes:
        count: Number of payloads.
        finite: Exact sum of the finite payloads, each times its lifetime.
        nans: Number of NaNs.
        highs: Number of positive infinities.
        lows: Number of negative infinities.
    """

    count: int
    finite: Fraction
    nans: int
    highs: int
    lows: int


class TimeWeightedAverage(IncrementalAggregate[N | None, Weighted, float | None]):
    """Average a value over a window's time, each payload weighted by how long it holds.

    The sum of payload times lifetime, divided by the length of the window. Overlapping events add up: where two
    planes are in the air, so are the miles of both. Time that no event covers counts as zero.

    Only under `clip="full"` is this an average over the window, so no other policy is accepted. A member that lies
    wholly outside (there are such in count windows, and with a `reach`) is left out.

    Types: float, int or Decimal to float, in the unit of the payload.
    Nulls: skipped, so their time counts as zero; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: products and sum are kept exactly and the quotient is rounded once, so removing undoes adding.

    Cost: one fraction per window, one multiplication of integers per event. Over snapshots, each of whose events spans
    it, the average is the sum of the payloads, which runs on arrays.

    Source: the `MyTimeWeightedAverage` of the StreamInsight paper.

    Example:
        >>> average, window = TimeWeightedAverage(), Window(0, 10)
        >>> events = [Event(0, 5, 2.0), Event(5, 10, 4.0)]
        >>> average.compute_result(average.add_events(average.create_state(window), events, window), window)
        3.0
    """

    name, version = "stats.time_weighted_average", "0.1.0"
    aliases = ("twa",)
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def create_state(self, window: Window) -> Weighted:
        """Return a sum of no payloads."""
        return _weighted((), window)

    def add_events(self, state: Weighted, events: Sequence[Event[N | None]], window: Window) -> Weighted:
        """Add payloads times lifetimes."""
        return state + _weighted(events, window)

    def remove_events(self, state: Weighted, events: Sequence[Event[N | None]], window: Window) -> Weighted:
        """Subtract payloads times lifetimes."""
        return state - _weighted(events, window)

    def compute_result(self, state: Weighted, window: Window) -> float | None:
        """Return the average."""
        if not state.count:
            return None
        # Infinities are summed without their lifetimes, which are positive and so change no sign.
        not_finite = sum_of_not_finite(state.nans, state.highs, state.lows)
        if not_finite is not None:
            return not_finite
        return nearest(state.finite.numerator, state.finite.denominator * window.duration)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays, for windows that all events span: a sum of floats or ints."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.sum import ColumnarFloatSumOfIntegers, ColumnarSumOfFloats

        return ColumnarSumOfFloats() if kind is ScalarKind.FLOAT else ColumnarFloatSumOfIntegers()


def _weighted(events: Sequence[Event[N | None]], window: Window) -> Weighted:
    """Add up the numbers of events inside the window, each times the length of its lifetime, exactly.

    Events wholly outside, and nulls, do not count; NaN and infinities are only counted.
    """
    numbers: list[Number] = []
    lengths: list[int] = []
    for event in events:
        is_inside = event.start < window.end and event.end > window.start
        if event.payload is not None and is_inside:
            numbers.append(event.payload)
            lengths.append(event.end - event.start)  # inside the window: full clipping has cut the lifetime
    count = len(numbers)
    not_finite = count_not_finite(numbers)
    if any(not_finite):
        are_finite = list(map(is_finite, numbers))
        # Only finite numbers have an exact sum.
        numbers = list(compress(numbers, are_finite))
        lengths = list(compress(lengths, are_finite))
    integers, denominator = over_one_denominator(numbers)
    total = sum(map(mul, integers, lengths))
    return Weighted(count, Fraction(total, denominator), not_finite.nans, not_finite.highs, not_finite.lows)
