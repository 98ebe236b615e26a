"""The net changes of the events of a key, or of one life of it, in a micro-batch."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from muntin import Window
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState

Versions: TypeAlias = tuple[StoredEvent | None, StoredEvent | None]
"""An event before a batch and after it. None: it did not, or does not, exist."""


class NetChanges:
    """The net changes of some events.

    Attributes:
        inserted: New events that no other row can be about.
        touched: The other net changes by event: an event revised twice in a batch appears once.
        replaced: Windows whose entry has live output and no members: what they are now is to be computed.
        recut: The stretch of the axis in which windows are cut elsewhere than before; None if they are not.
    """

    def __init__(self, state: KeyState) -> None:
        self.inserted: list[StoredEvent] = []
        self.touched: dict[Hashable, Versions] = {}
        self.replaced: list[Window] = []
        self.recut: tuple[int, int] | None = None
        self._state = state

    def settle(self) -> None:
        """Bring the index and the windows up to date."""
        gone = [before for before, _ in self.touched.values() if before is not None]
        new = [after for _, after in self.touched.values() if after is not None]
        self._state.replace(gone, self.inserted + new if new else self.inserted)
