"""Changes of lifetimes: an event gets a new lifetime that follows from its old one alone, so no state is needed.

Here is what a change is, and what it does to the watermark. All rows to come have a sync time at or after the
watermark; the change moves these rows, and the watermark becomes the latest tick that none of them can lie before.
`muntin_engine.tasks.lifetime_arrays` applies changes to rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, TypeAlias

from muntin import EARLIEST
from muntin.windows import WindowSpecification
from muntin.windows.regular import RegularWindows
from muntin_engine.time.changes import LATEST
from muntin_engine.time.window_grid import grid_of

Lifetimes: TypeAlias = Literal["interval", "point", "edge"]
"""Events with ends of their own, points that last one tick, or samples that last until the next one of their key."""


@dataclass(frozen=True, slots=True)
class LengthColumn:
    """A length that each event has in a column.

    Attributes:
        name: The name of the column in the projected rows of the input.
        text: The expression of the column, as the query writer wrote it.
        least: The least length in ticks, by which the watermark moves; an event with a smaller one is rejected.
    """

    name: str
    text: str
    least: int


Length: TypeAlias = int | LengthColumn
"""A length in ticks, of all events or of each."""


@dataclass(frozen=True, slots=True)
class LifetimeChange(ABC):
    """One change of the lifetimes of all events of a stream.

    Attributes:
        call: The call that a query writer makes for it, without lengths.
        becomes: The kind of lifetimes after the change; None if the kind stays.
        fixes_ends: True if no end moves any more after the change, whatever revisions say.
    """

    call: ClassVar[str]
    becomes: ClassVar[Lifetimes | None] = None
    fixes_ends: ClassVar[bool] = False

    @property
    def length(self) -> Length | None:
        """The length by which it changes lifetimes; None if it needs none."""
        return None

    @property
    def aligned_to(self) -> WindowSpecification | None:
        """The windows to which it aligns lifetimes; None if it aligns to none."""
        return None

    def watermark(self, tick: int, *, event_ends_move: bool) -> int:
        """Return the watermark after the change; by default it stays.

        Args:
            tick: The watermark before the change.
            event_ends_move: True if revisions still move ends of events when the change is applied.
        """
        del event_ends_move
        return tick

    @abstractmethod
    def describe(self, words: ChangeWords) -> str:
        """Describe how the change alters each event, in words that follow "events"."""

    def describe_watermark(self, words: ChangeWords, *, event_ends_move: bool) -> str:
        """Describe the watermark after the change; empty if it stays."""
        del words, event_ends_move
        return ""

    def identity(self) -> list[object]:
        """Return the change as plain data, for the identity of a query: the call and its arguments."""
        if isinstance(self.length, LengthColumn):
            return [self.call, f"{self.length.text}, at least {self.length.least}"]
        values: list[object] = []
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, WindowSpecification):
                value = value.to_dict()
            values.append(value)
        return [self.call, *values]


@dataclass(frozen=True, slots=True)
class ChangeWords:
    """The words of a query for lengths and windows.

    Attributes:
        spell_ticks: The function that returns a length in words.
        spell_window: The function that returns windows as they are written.
    """

    spell_ticks: Callable[[int], str]
    spell_window: Callable[[WindowSpecification], str]

    def length(self, length: Length) -> str:
        """Return a length in words, or the column that has it."""
        if isinstance(length, LengthColumn):
            return f"{length.text}, at least {self.spell_ticks(length.least)}"
        return self.spell_ticks(length)


@dataclass(frozen=True, slots=True)
class Shift(LifetimeChange):
    """Move events along the axis.

    Attributes:
        shift: The distance; below zero, to the past.
    """

    call = "shift"
    shift: Length

    @property
    def length(self) -> Length:
        """The distance."""
        return self.shift

    def watermark(self, tick: int, *, event_ends_move: bool) -> int:
        """Shift the watermark by the least distance."""
        del event_ends_move
        return tick + least_of(self.shift)

    def describe(self, words: ChangeWords) -> str:
        """Say by how much events are shifted."""
        return f"shifted by {words.length(self.shift)}"

    def describe_watermark(self, words: ChangeWords, *, event_ends_move: bool) -> str:
        """Say by how much the watermark is shifted."""
        del event_ends_move
        least = least_of(self.shift)
        return f"the watermark is shifted by {words.spell_ticks(least)}" if least else ""


@dataclass(frozen=True, slots=True)
class SetDuration(LifetimeChange):
    """Let events last for a time from their starts on.

    Attributes:
        duration: The time.
    """

    call = "set_duration"
    duration: Length
    becomes = "interval"
    fixes_ends = True

    @property
    def length(self) -> Length:
        """The duration."""
        return self.duration

    def describe(self, words: ChangeWords) -> str:
        """Say how long events last."""
        return f"each lasts {words.length(self.duration)}"


@dataclass(frozen=True, slots=True)
class Extend(LifetimeChange):
    """Move the ends of events to the future.

    Attributes:
        extension: The distance.
    """

    call = "extend"
    extension: Length
    becomes = "interval"

    @property
    def length(self) -> Length:
        """The extension."""
        return self.extension

    def describe(self, words: ChangeWords) -> str:
        """Say how much later events end."""
        return f"each ends {words.length(self.extension)} later"


@dataclass(frozen=True, slots=True)
class Shorten(LifetimeChange):
    """Move the ends of events to the past; an event keeps its first tick.

    Attributes:
        reduction: The distance.
    """

    call = "shorten"
    reduction: int
    becomes = "interval"

    @property
    def length(self) -> int:
        """The reduction."""
        return self.reduction

    def watermark(self, tick: int, *, event_ends_move: bool) -> int:
        """Hold the watermark back by the reduction, if ends move.

        The sync time of a revision is an end of its event, which the change moves to the past.
        """
        return tick - self.reduction if event_ends_move else tick

    def describe(self, words: ChangeWords) -> str:
        """Say how much earlier events end."""
        return f"each ends {words.spell_ticks(self.reduction)} earlier, but keeps its first tick"

    def describe_watermark(self, words: ChangeWords, *, event_ends_move: bool) -> str:
        """Say how far the watermark stays behind, if it does."""
        if not event_ends_move:
            return ""
        behind = words.spell_ticks(self.reduction)
        return f"the watermark stays {behind} behind, as revisions count that much earlier"


@dataclass(frozen=True, slots=True)
class PointsAtStart(LifetimeChange):
    """Let events be points at their starts."""

    call = "to_points('start')"
    becomes = "point"
    fixes_ends = True

    def describe(self, words: ChangeWords) -> str:
        """Say where the points are."""
        del words
        return "each is a point at its start"


@dataclass(frozen=True, slots=True)
class PointsAtEnd(LifetimeChange):
    """Let events be points at their ends; an event that never ends is left out.

    Attributes:
        is_repeated: True if revisions repeat the payload of their event and its end so far. Then each revision by
            itself says which point it deletes and which one it inserts.
    """

    call = "to_points('end')"
    is_repeated: bool = False
    becomes = "point"
    fixes_ends = True

    def describe(self, words: ChangeWords) -> str:
        """Say where the points are."""
        del words
        return "each is a point at its end"


@dataclass(frozen=True, slots=True)
class ToEdges(LifetimeChange):
    """Let events last until the next one of their key starts."""

    call = "to_edges"
    becomes = "edge"
    fixes_ends = True

    def describe(self, words: ChangeWords) -> str:
        """Say how long events last."""
        del words
        return "each lasts until the next one of its key starts"


@dataclass(frozen=True, slots=True)
class Align(LifetimeChange):
    """Let events last for as long as all windows that they are in.

    Attributes:
        windows: The windows, which lie on a grid and leave no gaps.
        may_overlap: True if the windows may overlap.
    """

    call = "align_to"
    may_overlap: ClassVar[bool] = False
    windows: WindowSpecification
    becomes = "interval"

    @property
    def aligned_to(self) -> WindowSpecification:
        """The windows."""
        return self.windows

    @property
    def grid(self) -> RegularWindows:
        """The windows as a grid."""
        grid = self.windows.grid()
        assert grid is not None, "EventStream.align_to refuses others"
        return grid

    def watermark(self, tick: int, *, event_ends_move: bool) -> int:
        """Hold the watermark at the start of the first window that has not ended: an aligned event may begin there."""
        del event_ends_move
        grid = grid_of(self.grid)
        return grid.start(grid.first_ending_after(tick))

    def describe(self, words: ChangeWords) -> str:
        """Say how long events last."""
        return f"each lasts as long as its windows of {words.spell_window(self.windows)}"

    def describe_watermark(self, words: ChangeWords, *, event_ends_move: bool) -> str:
        """Say where the watermark stays."""
        del words, event_ends_move
        return "the watermark stays at the start of the earliest of these that has not ended"


@dataclass(frozen=True, slots=True)
class ShareWindows(Align):
    """Let events last from the start of their first window to the start of the window after their last one.

    So two events overlap exactly if they share a window. Where windows overlap, lifetimes up to the end of the last
    window would also overlap if the events have different windows.
    """

    call = "same_window"
    may_overlap = True

    def describe(self, words: ChangeWords) -> str:
        """Say how long events last."""
        windows = words.spell_window(self.windows)
        return (
            f"each lasts from the start of its first window of {windows} to that of the next one after its last, "
            "so that events overlap if they share one"
        )


@dataclass(frozen=True, slots=True)
class LifetimeChanges:
    """The changes of the lifetimes of a stream, one after the other.

    Attributes:
        changes: The changes, the first one first.
        event_ends_move: True if revisions move the ends of events in the stream before any change.
    """

    changes: tuple[LifetimeChange, ...] = ()
    event_ends_move: bool = False

    def watermark(self, tick: int) -> int:
        """Return the watermark of the changed stream; a watermark at an end of the axis stays there.

        Example:
            >>> LifetimeChanges((Shorten(5), Shift(100)), event_ends_move=True).watermark(20)
            115
            >>> LifetimeChanges((Shorten(5), Shift(100))).watermark(20)
            120
        """
        if not self.changes or tick == EARLIEST or tick >= LATEST:
            return tick
        for change, event_ends_move in self._with_moving_ends():
            tick = change.watermark(tick, event_ends_move=event_ends_move)
            # A watermark at the end of the axis would close the stream, and one at its beginning would be none.
            tick = max(1 - LATEST, min(LATEST - 1, tick))
        return tick

    def explain(self, spell_ticks: Callable[[int], str], spell_window: Callable[[WindowSpecification], str]) -> str:
        """Return in words how the changes alter events and the watermark.

        Args:
            spell_ticks: The function that returns a length in words.
            spell_window: The function that returns windows as they are written.
        """
        words = ChangeWords(spell_ticks, spell_window)
        changes: list[str] = []
        effects: list[str] = []
        for change, event_ends_move in self._with_moving_ends():
            changes.append(change.describe(words))
            effect = change.describe_watermark(words, event_ends_move=event_ends_move)
            if effect:
                effects.append(effect)
        return f"{', then '.join(changes)}; {', and '.join(effects) or 'the watermark stays'}"

    def _with_moving_ends(self) -> Iterator[tuple[LifetimeChange, bool]]:
        """Yield each change, and whether revisions still move ends of events when it is applied."""
        event_ends_move = self.event_ends_move
        for change in self.changes:
            yield change, event_ends_move
            event_ends_move = event_ends_move and not change.fixes_ends


def least_of(length: Length) -> int:
    """Return the least length that an event may have, in ticks."""
    return length if isinstance(length, int) else length.least


def length_columns(changes: Iterable[LifetimeChange]) -> tuple[LengthColumn, ...]:
    """Return the columns that changes read their lengths from, each once."""
    columns: dict[str, LengthColumn] = {}
    for change in changes:
        if isinstance(change.length, LengthColumn):
            columns[change.length.name] = change.length
    return tuple(columns.values())


def lifetimes_after(lifetimes: Lifetimes, changes: Sequence[LifetimeChange]) -> Lifetimes:
    """Return the kind of lifetimes that events have after changes.

    Args:
        lifetimes: The kind of lifetimes before the changes.
        changes: The changes, the first one first.

    Example:
        >>> lifetimes_after("edge", (SetDuration(5), Shift(1)))
        'interval'
    """
    for change in reversed(changes):
        if change.becomes is not None:
            return change.becomes
    return lifetimes


def incoming_lifetimes(*, is_edge: bool, has_end: bool) -> Lifetimes:
    """Return the kind of lifetimes of events as they come.

    Args:
        is_edge: True if each event lasts until the next one of its key.
        has_end: True if the input has a column of ends.
    """
    if is_edge:
        return "edge"
    return "interval" if has_end else "point"
