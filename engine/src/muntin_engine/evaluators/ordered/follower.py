"""The contract of what follows the events of a key in their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer, Edge

StateT = TypeVar("StateT", bound=DelayBuffer)


class Follower(ABC, Generic[StateT]):
    """Follows the released events of each key in a micro-batch, and emits.

    Attributes:
        windows_closed: The number of windows that it emitted.
        evicted: The second output of the last key: what its module returned for rows that left.
    """

    def __init__(self) -> None:
        self.windows_closed = 0
        self.evicted: Sequence[OutputChange] = ()

    @abstractmethod
    def follow(
        self, key: object, state: StateT, released: Sequence[Edge], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the changes of a key's output.

        Args:
            key: The key.
            state: What is kept of it; changed in place.
            released: What the watermark has passed, in order.
            before: The progress before the micro-batch, with the key's own watermark.
            now: The progress after the micro-batch, likewise.
        """
