"""Window specifications: plain, frozen data that says how the axis is cut into windows.

A specification computes nothing; the engine and the reference evaluator each read it. Windowing divides the
axis, it never rewrites the lifetimes of events (SI-21). An event belongs to every window that its lifetime
overlaps; count windows ask for its start or its end instead (StreamInsight paper, section III.B).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from muntin.axis import Axis, Duration, moment, ticks
from muntin.errors import WindowError


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One window: its extent `[start, end)` in ticks.

    Example:
        >>> Window(0, 60).duration
        60
    """

    start: int
    end: int

    @property
    def duration(self) -> int:
        """Its length in ticks."""
        return self.end - self.start

    @property
    def starts_at(self) -> datetime | None:
        """The start as a UTC datetime, where ticks are microseconds."""
        return moment(self.start)

    @property
    def ends_at(self) -> datetime | None:
        """The end as a UTC datetime, where ticks are microseconds; None if it is open."""
        return moment(self.end)


@dataclass(frozen=True, slots=True)
class HoppingWindows:
    """A window of `size` ticks at every multiple of `hop` from `offset` on, in both directions (SI-31).

    Attributes:
        size: Length of each window.
        hop: Distance between the starts of neighbours. Below `size` windows overlap, above it there are gaps.
        offset: Where a window starts; any other start is a multiple of `hop` away.
        reach: For how long after its end an event stays a member of windows. Membership alone is
            widened: a module still sees the event's own lifetime. Zero for the plain overlap rule.
    """

    size: int
    hop: int
    offset: int = 0
    reach: int = 0

    def __post_init__(self) -> None:
        if self.size <= 0 or self.hop <= 0:
            raise WindowError(f"a hopping window needs a size and a hop above zero, got {self.size} and {self.hop}")
        if self.reach < 0:
            raise WindowError(f"the reach of a window cannot be negative, got {self.reach}")

    def __str__(self) -> str:
        kind = f"tumbling({self.size})" if self.size == self.hop else f"hopping({self.size}, {self.hop})"
        return kind + (f" + {self.offset}" if self.offset else "") + (f", reach {self.reach}" if self.reach else "")


@dataclass(frozen=True, slots=True)
class SnapshotWindows:
    """A window between each pair of neighbouring distinct endpoints of events (SI-33).

    No event of the key starts or ends inside a snapshot, so its members are the same all through it.
    """

    def __str__(self) -> str:
        return "snapshot()"


@dataclass(frozen=True, slots=True)
class CountWindows:
    """A window from each distinct start (or end) of an event over the next `count` of them (SI-34, SI-35).

    The window is `[t_i, t_(i+count-1) + 1)` and has as members the events that start (or end) inside. Distinct
    *times* are counted, so events at the same time never make the result depend on their order (SI-36); there
    may then be more than `count` members. Times with fewer than `count - 1` successors open no window.

    Attributes:
        count: How many distinct times a window spans.
        by: Whether the starts or the ends of events are counted. An event that has not ended has no end yet.
    """

    count: int
    by: Literal["start", "end"] = "start"

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count <= 0:
            raise WindowError(f"a count window needs a whole number above zero, got {self.count!r}")
        if self.by not in ("start", "end"):
            raise WindowError(f"a count window counts by 'start' or by 'end', got {self.by!r}")

    def __str__(self) -> str:
        return f"count_by_{self.by}({self.count})"


WindowSpecification: TypeAlias = HoppingWindows | SnapshotWindows | CountWindows
"""What a query names as its window."""

_KINDS = {"hopping": HoppingWindows, "snapshot": SnapshotWindows, "count": CountWindows}


def hopping(size: Duration, hop: Duration, offset: Duration = 0, *, reach: Duration = 0) -> HoppingWindows:
    """Return windows of a size at every multiple of a hop.

    Args:
        size: Length of each window, for example `"1 hour"`.
        hop: Distance between neighbouring starts; any ratio to the size is allowed.
        offset: Where one of the windows starts, counted from tick 0 (the epoch where the axis is time).
        reach: For how long after its end an event stays a member (StreamInsight's altered duration, for
            membership alone); a pattern that looks back six hours wants a reach of at least that.

    Raises:
        WindowError: The size or the hop is not positive, or the reach is negative.

    Example:
        >>> hopping("1 hour", "10 minutes")
        HoppingWindows(size=3600000000, hop=600000000, offset=0, reach=0)
    """
    return HoppingWindows(ticks(size), ticks(hop), ticks(offset), ticks(reach))


def tumbling(size: Duration, offset: Duration = 0, *, reach: Duration = 0) -> HoppingWindows:
    """Return windows of a size, one after the other: a hop equal to the size (SI-32).

    Example:
        >>> tumbling(60) == hopping(60, 60)
        True
    """
    return hopping(size, size, offset, reach=reach)


def snapshot() -> SnapshotWindows:
    """Return windows between neighbouring endpoints of events."""
    return SnapshotWindows()


def count_by_start(count: int) -> CountWindows:
    """Return windows over `count` distinct starts of events."""
    return CountWindows(count, "start")


def count_by_end(count: int) -> CountWindows:
    """Return windows over `count` distinct ends of events."""
    return CountWindows(count, "end")


def to_dict(specification: WindowSpecification) -> dict[str, Any]:
    """Return a specification as JSON-able data.

    Example:
        >>> to_dict(count_by_end(3))
        {'kind': 'count', 'count': 3, 'by': 'end'}
    """
    kind = next(name for name, cls in _KINDS.items() if isinstance(specification, cls))
    return {"kind": kind, **{name: _plain(value) for name, value in asdict(specification).items()}}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int) else value


def from_dict(data: Mapping[str, Any]) -> WindowSpecification:
    """Return the specification that `to_dict` wrote.

    Raises:
        WindowError: The kind is unknown or a field is not one of it.

    Example:
        >>> from_dict(to_dict(snapshot()))
        SnapshotWindows()
    """
    fields = {name: value for name, value in data.items() if name != "kind"}
    try:
        specification: WindowSpecification = _KINDS[data["kind"]](**fields)
    except (KeyError, TypeError) as error:
        raise WindowError(f"{dict(data)!r} is not a window specification; kinds are {', '.join(_KINDS)}") from error
    return specification


def spell_window(window: WindowSpecification, axis: Axis) -> str:
    """Return the call that makes a specification, with lengths in words where the axis is time.

    Example:
        >>> spell_window(HoppingWindows(600_000_000, 60_000_000, reach=1_000_000), Axis.TIME)
        "hopping('10 minutes', '1 minute', reach='1 second')"
    """
    if not isinstance(window, HoppingWindows):
        return str(window)

    def spell(length: int) -> str:
        return repr(axis.spell_length(length)) if axis is Axis.TIME else str(length)

    lengths = [window.size] if window.size == window.hop else [window.size, window.hop]
    others = {"offset": window.offset, "reach": window.reach}
    said = [*map(spell, lengths), *(f"{name}={spell(length)}" for name, length in others.items() if length)]
    return f"{'tumbling' if len(lengths) == 1 else 'hopping'}({', '.join(said)})"
