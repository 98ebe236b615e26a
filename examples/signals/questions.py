"""Eight questions about signals and payments, each as a query over a stream of readings.

A reading has a `key` and a `value`: the price of a share, what a sensor says, an amount that a card paid. Lengths are
parameters, with the values for which the benchmark asks.

Results of the joins have the column `lifetime`, those of windows have `window`.
"""

from __future__ import annotations

from typing import Final

import muntin_stats as stats
from examples.signals.crest_factor import CrestFactor
from examples.signals.crossings import Crossings
from examples.signals.heart_beats import HeartBeats
from examples.signals.interpolation import Interpolation
from examples.signals.kurtosis import Kurtosis
from examples.signals.relative_strength import RelativeStrength
from examples.signals.root_mean_square import RootMeanSquare
from muntin import count_by_start, hopping, tumbling
from muntin_engine import EventStream, Query, module

BUCKETS: Final = 4
"""The number of buckets of each query that reads the results of another one."""


def trend(prices: EventStream, *, step: str = "1 second", short: str = "20 seconds", long: str = "50 seconds") -> Query:
    """Return when the short moving average of a price comes to lie above the long one.

    Both averages are taken at every step, as points at the ends of their windows, and meet in a join. Rows are points
    at those ends, too.
    """
    brief, slow = (
        prices.window(hopping(length, step), timestamps="point_at_end")
        .aggregate(average=stats.average("value"))
        .as_events(key="key", buckets=BUCKETS)
        for length in (short, long)
    )
    averages = brief.join(slow, left_columns={"short": "average"}, right_columns={"long": "average"})
    return averages.as_events(key="key", buckets=BUCKETS).to_points().apply(module(Crossings, "short", "long"))


def strength(prices: EventStream, *, step: str = "1 second", window: str = "14 seconds") -> Query:
    """Return the relative strength index of a price at every step, and of how many changes it is.

    A price meets that of the step before, which is shifted by a step. Rows are points at the ends of windows.
    """
    pairs = prices.shift(step).join(prices, left_columns={"before": "value"}, right_columns={"after": "value"})
    changes = pairs.as_events(key="key", buckets=BUCKETS).with_columns(change="after - before")
    of_windows = changes.window(hopping(window, step), timestamps="point_at_end")
    of_how_many = stats.count("change", skip_nulls=True)
    return of_windows.aggregate(index=module(RelativeStrength, "change"), changes=of_how_many)


def normalised(readings: EventStream, *, window: str = "1 minute") -> Query:
    """Return each reading with the mean and the standard deviation of the window that it lies in."""
    usual = readings.window(tumbling(window)).aggregate(
        mean=stats.average("value"), deviation=stats.standard_deviation("value", ddof=0)
    )
    of_window = usual.as_events(key="key", buckets=BUCKETS)
    return readings.join(of_window, left_columns=["value"], right_columns=["mean", "deviation"])


def imputed(readings: EventStream, *, window: str = "1 minute") -> Query:
    """Return each reading, which may be null, with the mean of the others in its window."""
    usual = readings.window(tumbling(window)).aggregate(mean=stats.average("value"))
    return readings.join(usual.as_events(key="key", buckets=BUCKETS), left_columns=["value"], right_columns=["mean"])


def resampled(readings: EventStream, *, step: str = "800 milliseconds") -> Query:
    """Return the line through readings at any times, read at multiples of a step. Rows are points at the multiples."""
    return readings.window(count_by_start(2)).apply(module(Interpolation, "value", step=step))


def beats(readings: EventStream, *, rate: int = 200) -> Query:
    """Return the beats of the heart in an electrocardiogram. Rows are points at the samples that show them."""
    return readings.apply(module(HeartBeats, "value", rate=rate))


def vibration(readings: EventStream, *, window: str = "100 seconds") -> Query:
    """Return kurtosis, root mean square and crest factor of the vibration in each window."""
    return readings.window(tumbling(window)).aggregate(
        kurtosis=module(Kurtosis, "value"), strength=module(RootMeanSquare, "value"), crest=module(CrestFactor, "value")
    )


def unusual(payments: EventStream, *, before: str = "7 days", day: str = "1 day") -> Query:
    """Return each payment with the mean and the standard deviation of what its card paid on the days before.

    The statistics of those days hold for the day after them: from the end of their window on, for a day. A card that
    paid nothing on those days has no statistics, and its payment is in no row.
    """
    earlier = payments.window(hopping(before, day), timestamps="point_at_end").aggregate(
        mean=stats.average("value"), deviation=stats.standard_deviation("value")
    )
    usual = earlier.as_events(key="key", buckets=BUCKETS).set_duration(day)
    return payments.join(usual, left_columns=["value"], right_columns=["mean", "deviation"])
