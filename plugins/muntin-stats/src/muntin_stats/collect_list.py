"""All values, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import IncrementalAggregate
from muntin_stats.order import P, present, unsigned


class CollectList(IncrementalAggregate[P | None, list[P], list[P]]):
    """List the payloads of a window in the order in which their events start.

    Events that start together come in the order of the query's `events(order=...)`. Events that are equal in that order
    too, or in a query without one, come by payload, the smaller one first. So the list is the same whatever the order
    in which rows arrive, which Spark's `collect_list` does not guarantee.

    Types: any type to a list of it.
    Nulls: skipped; the list is empty where there is nothing else.
    NaN: larger than any number; this matters only among events that are equal in the order.

    Laws: it reads the order, and removes the oldest.

    Cost: memory for every member; the members of a window are sorted for each result.

    Example:
        >>> listed = CollectList[str]()
        >>> listed.compute_result(listed.add_events([], ["b", None, "a"]))
        ['b', 'a']
    """

    name, version = "stats.collect_list", "0.1.0"
    aliases = ("array_agg", "collect")
    decimal_digits = 0
    reads_order = True

    def create_state(self) -> list[P]:
        """Return an empty list."""
        return []

    def add_events(self, state: list[P], payloads: Sequence[P | None]) -> list[P]:
        """Return the list with more payloads."""
        state += present(payloads)
        return state

    def remove_events(self, state: list[P], payloads: Sequence[P | None]) -> list[P]:
        """Return the list without its oldest payloads."""
        del state[: len(present(payloads))]
        return state

    def compute_result(self, state: list[P]) -> list[P]:
        """Return the payloads in order."""
        return [unsigned(payload) for payload in state]
