"""The rules of one source, where the sources of an input were streams of their own before these were united."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.progress import ProgressPolicy
from muntin_engine.time.lifetimes import LifetimeChange, LifetimeChanges


@dataclass(frozen=True, slots=True)
class SourceRules:
    """The rules that a stream had before it was united with others.

    Attributes:
        source: The name of the source.
        progress: The progress policy of the source.
        lifetime_changes: The changes of the lifetimes of its events, the first one first.
        event_ends_move: True if revisions change ends.
    """

    source: str
    progress: ProgressPolicy
    lifetime_changes: tuple[LifetimeChange, ...] = ()
    event_ends_move: bool = False

    @property
    def changes(self) -> LifetimeChanges:
        """The changes of lifetimes, and what they do to the watermark."""
        return LifetimeChanges(self.lifetime_changes, self.event_ends_move)
