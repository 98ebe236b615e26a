"""The earliest value."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import IncrementalAggregate
from muntin_stats.order import P, unsigned


class First(IncrementalAggregate[P | None, P | None, P | None]):
    """Return the payload of the event that starts first in a window.

    Of events that start together it is the first by the query's `events(order=...)`. Of events that are equal in that
    order too, or in a query without one, it is the smallest payload.

    Types: any type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; this matters only among events that are equal in the order.

    Laws: it reads the order. It cannot remove: the state has the first payload alone and not the one that comes next,
        so the engine rebuilds.

    Cost: one value per window; the members of a window are sorted for each result.

    Example:
        >>> first = First[str]()
        >>> first.compute_result(first.add_events(None, [None, "b", "a"]))
        'b'
    """

    name, version = "stats.first", "0.1.0"
    aliases = ("first_value",)
    decimal_digits = 0
    reads_order = True

    def create_state(self) -> P | None:
        """Return null."""
        return None

    def add_events(self, state: P | None, payloads: Sequence[P | None]) -> P | None:
        """Return the first payload so far."""
        return next((payload for payload in (state, *payloads) if payload is not None), None)

    def compute_result(self, state: P | None) -> P | None:
        """Return the first payload."""
        return unsigned(state)
