"""The events of a bucket whose windows are snapshots, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

from muntin_engine.evaluators.columnar.partials import Partials, concat
from muntin_engine.evaluators.edges.held_events import HeldEvents
from muntin_engine.evaluators.fused.store import FusedStore
from muntin_engine.exchange.bound_form import BoundForm


class EdgeStore(FusedStore):
    """A store of events, of which snapshots are made; where a store of sessions has these, it has events.

    Each row comes as a partial state, and stays one until the watermark has passed its end.
    """

    def __init__(self, forms: Sequence[BoundForm], *, at_end: bool) -> None:
        """Make an empty store for the forms of a query.

        Args:
            forms: The forms; all that they keep can be subtracted.
            at_end: True if results are points at the ends of snapshots, so that one without an end has none.
        """
        super().__init__(forms, at_end=at_end)
        self._held = HeldEvents()

    def _fuse(self, pieces: Sequence[Partials]) -> Partials:
        return concat(pieces)
