"""Changes of lifetimes: each event gets another one, which follows from its own alone, so nothing is kept for them.

Here is what a change is, and what it does to the watermark: of one at `t` it makes the latest tick before which no row
comes whose own sync time is `t` or later. `muntin_engine.tasks.changed_lifetimes` changes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Final, Literal, TypeAlias

from muntin import EARLIEST
from muntin.windows import WindowSpecification
from muntin.windows.regular import RegularWindows
from muntin_engine.time.window_grid import grid_of

Lifetimes: TypeAlias = Literal["interval", "point", "edge"]
"""Events with ends of their own, points that last one tick, or samples that last until the next one of their key."""

FARTHEST: Final = 2**62
"""Times lie between this and its negative; a watermark is not moved there, where it would close the stream."""


@dataclass(frozen=True, slots=True)
class LengthColumn:
    """A length that each event says in a column of its payload.

    Attributes:
        name: The name of the column in the input.
        text: The expression, as the query writer has it.
        least: The least length in ticks; events that say less are rejected, so that the watermark can be moved by it.
    """

    name: str
    text: str
    least: int


Length: TypeAlias = int | LengthColumn
"""A length in ticks, of all events or of each."""


@dataclass(frozen=True, slots=True)
class LifetimeChange:
    """One change of the lifetimes of all events of a stream.

    Attributes:
        call: The call that a query writer makes for it, without lengths.
        becomes: The kind of lifetimes after it; None if it stays.
        fixes_ends: True if no end moves any more after it, whatever revisions say.
    """

    call: ClassVar[str]
    becomes: ClassVar[Lifetimes | None] = None
    fixes_ends: ClassVar[bool] = False

    @property
    def length(self) -> Length | None:
        """The length that it goes by; None if it goes by none."""
        values = (getattr(self, part.name) for part in fields(self))
        return next((value for value in values if isinstance(value, Length) and not isinstance(value, bool)), None)

    def identity(self) -> list[object]:
        """Return the part of a checkpoint's identity that it is, as plain data."""
        if isinstance(self.length, LengthColumn):
            return [self.call, f"{self.length.text}, at least {self.length.least}"]
        values = [getattr(self, part.name) for part in fields(self)]
        return [self.call, *(value.to_dict() if isinstance(value, WindowSpecification) else value for value in values)]


@dataclass(frozen=True, slots=True)
class Shift(LifetimeChange):
    """Move events along the axis.

    Attributes:
        shift: How far; below zero, to the past.
    """

    call = "shift"
    shift: Length


@dataclass(frozen=True, slots=True)
class SetDuration(LifetimeChange):
    """Let events last for a time from their starts on.

    Attributes:
        duration: How long.
    """

    call = "set_duration"
    duration: Length
    becomes = "interval"
    fixes_ends = True


@dataclass(frozen=True, slots=True)
class Extend(LifetimeChange):
    """Move the ends of events to the future.

    Attributes:
        extension: How far.
    """

    call = "extend"
    extension: Length
    becomes = "interval"


@dataclass(frozen=True, slots=True)
class Shorten(LifetimeChange):
    """Move the ends of events to the past; an event keeps its first tick.

    Attributes:
        reduction: How far.
    """

    call = "shorten"
    reduction: int
    becomes = "interval"


@dataclass(frozen=True, slots=True)
class PointsAtStart(LifetimeChange):
    """Let events be points at their starts."""

    call = "to_points('start')"
    becomes = "point"
    fixes_ends = True


@dataclass(frozen=True, slots=True)
class PointsAtEnd(LifetimeChange):
    """Let events be points at their ends; one that never ends is left out.

    Attributes:
        is_repeated: True if revisions repeat the payload and the end so far, so that one gives an event a point.
    """

    call = "to_points('end')"
    is_repeated: bool = False
    becomes = "point"
    fixes_ends = True


@dataclass(frozen=True, slots=True)
class ToEdges(LifetimeChange):
    """Let events last until the next one of their key starts."""

    call = "to_edges"
    becomes = "edge"
    fixes_ends = True


@dataclass(frozen=True, slots=True)
class Align(LifetimeChange):
    """Let events last for as long as all windows that they are in.

    Attributes:
        windows: The windows, which have a grid and no gaps.
        may_overlap: True if the windows may overlap.
    """

    call = "align_to"
    may_overlap: ClassVar[bool] = False
    windows: WindowSpecification
    becomes = "interval"

    @property
    def grid(self) -> RegularWindows:
        """The windows as a grid."""
        grid = self.windows.grid()
        assert grid is not None, "EventStream.align_to refuses others"
        return grid


@dataclass(frozen=True, slots=True)
class ShareWindows(Align):
    """Let events last from the start of the first window that they are in to that of the next one after the last.

    So events overlap if they share a window, where overlapping windows would let more of them overlap.
    """

    call = "same_window"
    may_overlap = True


@dataclass(frozen=True, slots=True)
class LifetimeChanges:
    """The changes of the lifetimes of a stream, one after the other.

    Attributes:
        changes: The changes, the first one first.
        event_ends_move: True if revisions change the ends of events before the first one.
    """

    changes: tuple[LifetimeChange, ...] = ()
    event_ends_move: bool = False

    def watermark(self, tick: int) -> int:
        """Return the watermark of the changed stream; one at an end of the axis stays there.

        Example:
            >>> LifetimeChanges((Shorten(5), Shift(100)), event_ends_move=True).watermark(20)
            115
            >>> LifetimeChanges((Shorten(5), Shift(100))).watermark(20)
            120
        """
        if not self.changes or tick == EARLIEST or tick >= FARTHEST:
            return tick
        for change, event_ends_move in self._each():
            if isinstance(change, Shift):
                tick += least_of(change.shift)
            elif isinstance(change, Shorten) and event_ends_move:
                tick -= change.reduction
            elif isinstance(change, Align):
                grid = grid_of(change.grid)
                tick = grid.start(grid.first_ending_after(tick))
            tick = max(1 - FARTHEST, min(FARTHEST - 1, tick))
        return tick

    def explain(self, spell: Callable[[int], str], spell_window: Callable[[WindowSpecification], str]) -> str:
        """Return the changes, and what becomes of the watermark, in words.

        Args:
            spell: Returns a length in words.
            spell_window: Returns windows as they are written.
        """
        told, effects = list[str](), list[str]()

        def said(length: Length) -> str:
            return spell(length) if isinstance(length, int) else f"{length.text}, at least {spell(length.least)}"

        for change, event_ends_move in self._each():
            if isinstance(change, Shift):
                told.append(f"shifted by {said(change.shift)}")
                if least := least_of(change.shift):
                    effects.append(f"the watermark is shifted by {spell(least)}")
            elif isinstance(change, SetDuration):
                told.append(f"each lasts {said(change.duration)}")
            elif isinstance(change, Extend):
                told.append(f"each ends {said(change.extension)} later")
            elif isinstance(change, Shorten):
                told.append(f"each ends {spell(change.reduction)} earlier, but keeps its first tick")
                behind = f"the watermark stays {spell(change.reduction)} behind, as revisions count that much earlier"
                effects += [behind] * event_ends_move
            elif isinstance(change, PointsAtStart | PointsAtEnd):
                told.append(f"each is a point at its {'start' if isinstance(change, PointsAtStart) else 'end'}")
            elif isinstance(change, ToEdges):
                told.append("each lasts until the next one of its key starts")
            elif isinstance(change, Align):
                windows = spell_window(change.windows)
                shared = (
                    f"from the start of its first window of {windows} to that of the next one after its last, so that "
                )
                is_shared = isinstance(change, ShareWindows)
                lasts = (
                    f"{shared}events overlap if they share one" if is_shared else f"as long as its windows of {windows}"
                )
                told.append(f"each lasts {lasts}")
                effects.append("the watermark stays at the start of the earliest of these that has not ended")
        return f"{', then '.join(told)}; {', and '.join(effects) or 'the watermark stays'}"

    def _each(self) -> Iterator[tuple[LifetimeChange, bool]]:
        event_ends_move = self.event_ends_move
        for change in self.changes:
            yield change, event_ends_move
            event_ends_move = event_ends_move and not change.fixes_ends


def least_of(length: Length) -> int:
    """Return the least length that an event may have, in ticks."""
    return length if isinstance(length, int) else length.least


def length_columns(changes: Iterable[LifetimeChange]) -> tuple[LengthColumn, ...]:
    """Return the columns that some changes read, each once."""
    found = (change.length for change in changes)
    return tuple({column.name: column for column in found if isinstance(column, LengthColumn)}.values())


def lifetimes_after(before: Lifetimes, changes: Sequence[LifetimeChange]) -> Lifetimes:
    """Return the kind of lifetimes of events after some changes.

    Example:
        >>> lifetimes_after("edge", (SetDuration(5), Shift(1)))
        'interval'
    """
    return next((change.becomes for change in reversed(changes) if change.becomes is not None), before)


def given_lifetimes(*, is_edge: bool, has_end: bool) -> Lifetimes:
    """Return the kind of lifetimes of events as they come."""
    if is_edge:
        return "edge"
    return "interval" if has_end else "point"
