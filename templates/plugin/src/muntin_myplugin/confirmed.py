"""A progress policy: the rule that says how complete an input is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muntin.progress import ProgressPolicy, SourceProgress


@dataclass(frozen=True, slots=True)
class Confirmed(ProgressPolicy):
    """A delay behind the third newest start, so that two rows from the far future make no other row late.

    A program imports it, and passes it to `events(..., watermark=Confirmed(ticks("1 minute")))`.

    Attributes:
        delay: Delay in ticks.

    Example:
        >>> Confirmed(5).watermark(SourceProgress(newest=90, rows=4, latest=(90, 12, 10)))
        5
    """

    delay: int

    @property
    def starts_kept(self) -> int:
        """The number of the largest starts that `progress.latest` has."""
        return 3

    def watermark(self, progress: SourceProgress) -> int | None:
        """Return the tick before which no later row starts; None before the third row."""
        if len(progress.latest) < self.starts_kept:
            return None
        return progress.latest[-1] - self.delay

    def describe(self, spell: Callable[[int], str]) -> str:
        """Describe the rule, for `explain()`."""
        return f"{spell(self.delay)} behind the third newest start"
