"""The question to every system: an aggregate of the values over windows of each key."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal, TypeAlias

Aggregate: TypeAlias = Literal["average", "max"]


@dataclass(frozen=True, slots=True)
class Question:
    """An aggregate over hopping windows, or over sessions. All times are whole seconds.

    Attributes:
        aggregate: What is computed of `value`.
        size: Length of each window; of sessions, the gap.
        hop: From the start of a window to the start of the next; 0 of sessions.
        delay: The input is complete up to this long before its newest time.
    """

    aggregate: Aggregate
    size: int
    hop: int
    delay: int = 10

    @property
    def window(self) -> str:
        """The window in words."""
        if self.is_session:
            return f"session {self.size} s"
        return f"tumbling {self.size} s" if self.size == self.hop else f"hopping {self.size} s / {self.hop} s"

    @property
    def is_session(self) -> bool:
        """True if windows are sessions."""
        return not self.hop

    @property
    def slice(self) -> int:
        """Length of the longest pieces of which all windows are made."""
        return gcd(self.size, self.hop)
