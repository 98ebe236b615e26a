"""The earliest value."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import IncrementalAggregate
from muntin_stats.order import P, unsigned


class First(IncrementalAggregate[P | None, P | None, P | None]):
    """Return the payload of the event that starts first in a window.

    Of events that start together, the first by the query's `events(order=...)`; of those that are alike in it too, or
    without it, the smallest payload.

    Types: any type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number; this matters for events of one place in the order only.

    Laws: it reads the order. There is no removing: what is left when the first goes is not in the state, so the
        engine rebuilds.

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
        """Return null: nothing yet."""
        return None

    def add_events(self, state: P | None, payloads: Sequence[P | None]) -> P | None:
        """Return the first of all so far."""
        return next((payload for payload in (state, *payloads) if payload is not None), None)

    def compute_result(self, state: P | None) -> P | None:
        """Return the first."""
        return unsigned(state)
