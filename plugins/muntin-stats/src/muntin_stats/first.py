"""The earliest value."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import Event, TimeSensitiveIncrementalAggregate, Window
from muntin_stats.order import T, unsigned
from muntin_stats.timed import Timed, timed


class First(TimeSensitiveIncrementalAggregate[T | None, Timed[T] | None, T | None]):
    """Return the payload of the event that starts first in a window.

    Of events that start together, the one that ends first; of those, the smallest payload. Under left or full
    clipping all that began before the window starts with it.

    Types: any ordered type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; this matters for events of one lifetime only.

    Laws: order means nothing. There is no removing: what is left when the first goes is not in the state, so the
        engine rebuilds.

    Cost: one value with its times per window, one comparison per event.

    Example:
        >>> first, window = First[str](), Window(0, 10)
        >>> events = [Event(5, 6, "b"), Event(2, 9, "a"), Event(1, 3, None)]
        >>> first.compute_result(first.add_events(None, events, window), window)
        'a'
    """

    name, version = "stats.first", "0.1.0"
    aliases = ("first_value",)
    decimal_digits = 0

    def create_state(self, window: Window) -> Timed[T] | None:
        """Return null: nothing yet."""
        return None

    def add_events(self, state: Timed[T] | None, events: Sequence[Event[T | None]], window: Window) -> Timed[T] | None:
        """Return the first of all so far."""
        return min(timed(events, state), default=None)

    def compute_result(self, state: Timed[T] | None, window: Window) -> T | None:
        """Return the payload of the first."""
        return None if state is None else unsigned(state[-1])
