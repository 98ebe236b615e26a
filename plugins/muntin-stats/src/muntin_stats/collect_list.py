"""All values, in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import Event, TimeSensitiveIncrementalAggregate, Window
from muntin_stats.order import T, unsigned
from muntin_stats.timed import Timed, timed


class CollectList(TimeSensitiveIncrementalAggregate[T | None, list[Timed[T]], list[T]]):
    """List the payloads of a window in the order in which their events start.

    Of events that start together, the one that ends first comes first; of those, the smaller payload. So the list
    is the same whatever the order in which rows arrive, which Spark's `collect_list` does not guarantee.

    Types: any ordered type to a list of it.
    Nulls: skipped; the list is empty where there is nothing else.
    NaN: larger than any number; this matters for events of one lifetime only.

    Laws: order means nothing. There is no removing: the engine rebuilds.

    Cost: memory for every member, and a sort per result.

    Example:
        >>> listed, window = CollectList[str](), Window(0, 10)
        >>> events = [Event(5, 6, "b"), Event(2, 9, "a"), Event(1, 3, None)]
        >>> listed.compute_result(listed.add_events([], events, window), window)
        ['a', 'b']
    """

    name, version = "stats.collect_list", "0.1.0"
    aliases = ("array_agg", "collect")
    decimal_digits = 0

    def create_state(self, window: Window) -> list[Timed[T]]:
        """Return an empty list."""
        return []

    def add_events(self, state: list[Timed[T]], events: Sequence[Event[T | None]], window: Window) -> list[Timed[T]]:
        """Return the list with more events."""
        state += timed(events, None)
        return state

    def compute_result(self, state: list[Timed[T]], window: Window) -> list[T]:
        """Return the payloads in order."""
        return [unsigned(entry[-1]) for entry in sorted(state)]
