"""The most frequent value."""

from __future__ import annotations

from math import nan
from typing import cast

from muntin_stats.order import T, unsigned
from muntin_stats.tally import Tally, TallyAggregate


class Mode(TallyAggregate[T, T | None]):
    """Return the value that occurs most often in a window; of several, the smallest.

    Types: any ordered, hashable type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: equal to itself and larger than any number, so it loses a tie.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value and window; a result passes over the distinct values.

    Example:
        >>> mode: Mode[str] = Mode()
        >>> mode.compute_result(mode.add_events(mode.create_state(), ["b", "a", "b", None, "a"]))
        'a'
    """

    name, version = "stats.mode", "0.1.0"
    aliases = ("most_frequent",)
    decimal_digits = 0

    def compute_result(self, state: Tally[T]) -> T | None:
        """Return the mode."""
        highest_count = max(state.counts.values(), default=0)
        if state.nans > highest_count:
            return cast(T, nan)
        most_frequent = [value for value, count in state.counts.items() if count == highest_count]
        return unsigned(min(most_frequent, default=None))
