"""The common part of windows over time and windows over rows."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Final, Self

from muntin.axis import INFINITY, Axis, DecimalLength, TimeLength, spell_as_written, ticks
from muntin.definitions.attributes import check_attributes
from muntin.definitions.methods import check_name, undefined_methods
from muntin.definitions.versions import continues
from muntin.errors import ModuleDefinitionError, WindowError
from muntin.errors.messages import Code
from muntin.windows.regular import GrowingSteps, RegularWindows


class WindowContext(StrEnum):
    """The knowledge of other rows that tells the windows of a row (Li 2008, section 6.1.2).

    The less of it, the earlier a row can be counted and forgotten: rows of context-free windows are counted as they
    come, and where later rows matter they have to be kept.
    """

    FREE = "free"
    """Nothing: the windows follow from the row alone, as hopping, tumbling, calendar, cumulating, landmark and global
    windows do, and count windows over one time."""
    BACKWARD = "backward"
    """Rows before it, such as how many there were: for count windows over one start of several, batches of rows and
    rows between two, and the last rows, where a number of rows both evicts and triggers."""
    FORWARD = "forward"
    """Rows after it too: for snapshot, session and trailing windows, count windows over several times, other sliding
    row windows, and those that are only computed if a row closes them."""


class WindowSpecification(ABC):
    """Windows as plain data: a name, a version and fields. There are two families of them.

    A `WindowKind` cuts the axis, and the order of rows means nothing to it. `RowWindows` follow the rows of a key one
    by one, in an order that is data.

    Attributes:
        name: The name a query and a checkpoint use: `"<plugin>.<kind>"`, or words for Muntin's own kinds.
        version: The kind's version; it is part of a query's identity in a checkpoint.
        continues_since: The oldest version whose checkpoints this one goes on with, because windows mean the same
            since then. None, the default: none but its own.
        title: The name of windows of the kind in messages, such as `"snapshot windows"`.
        lengths: The names of the fields that are lengths on the axis. A query may give them as `"10 minutes"`, and they
            are spelled that way.
        waits_for_events: False if windows are there before events are, as on a grid or in a calendar.
        ends_move: True if a boundary at the watermark itself may still move. Windows then close one tick later.
        can_be_time_bound: True if results may be time-bound.
        keeps_all: True if an event counts in windows without end, so that none is dropped before the stream is closed.
    """

    __slots__ = ()

    name: ClassVar[str]
    version: ClassVar[str]
    title: ClassVar[str]
    continues_since: ClassVar[str | None] = None
    lengths: ClassVar[tuple[str, ...]] = ()
    waits_for_events: ClassVar[bool] = True
    ends_move: ClassVar[bool] = False
    can_be_time_bound: ClassVar[bool] = False
    keeps_all: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.spell()

    def grid(self) -> RegularWindows | None:
        """Return a grid with the same windows and members, if there is one; such windows may be sliced.

        A grid of ticks is a `HoppingWindows`. Windows that have a number of stretches each, whatever the lengths of
        these, are `PeriodWindows`. Messages name a kind without a grid, and `explain()` says so.
        """
        return None

    def growing(self) -> GrowingSteps | None:
        """Return steps, if windows share a start and grow by them, up to a period or without an end.

        That is: `cut` yields the steps, an event of one tick counts from there to the end of its period, and
        `extent_start` is the start of the period. One running state per key is then enough. None, the default, if
        windows are others.
        """
        return None

    def fuses_within(self) -> int | None:
        """Return the gap, if an event counts until a gap after its last tick and windows are the connected stretches.

        That is: `membership(start, end)` is `(start, end - 1 + gap)`, and `cut` yields the parts of
        `stretches.covered`. Partial states of such windows may be fused. None, the default, if windows are others.
        """
        return None

    def cuts_at_edges(self) -> bool:
        """Return True if windows lie between neighbouring ends of lifetimes: each start or end of an event is a cut.

        That is: `membership(start, end)` is `(start, end)`, and `cut` yields the pairs of neighbours in
        `stretches.edges`. Partial states of such windows may be added where events start and subtracted where they
        end. False, the default, if windows are others.
        """
        return False

    @property
    def reach(self) -> int:
        """The time after its end for which an event may count; where windows wait for events, some may count longer."""
        return 0

    @property
    def least_events(self) -> int:
        """The number of events of a key that windows need to go on: fewer would wait for ever. 1 unless they count."""
        return 1

    @property
    def longest(self) -> int | None:
        """The length of the longest window, where that does not depend on events; None if it does, or is not known."""
        return None

    @property
    def time_zone(self) -> str | None:
        """The name of the time zone whose clock cuts the axis; None if no clock does."""
        return None

    @property
    def context(self) -> WindowContext:
        """The knowledge of other rows that tells the windows of a row; by default also of those that come after it."""
        return WindowContext.FORWARD if self.waits_for_events else WindowContext.FREE

    def with_reach(self, reach: int) -> Self:
        """Extend the windows to at least this reach, in ticks; unchanged where a reach means nothing."""
        return self

    @property
    def holds_past(self) -> int:
        """The time after its end for which an event certainly shares a window with each later event.

        `INFINITY`, the default, if that is not a matter of time; no module is then refused for its `Needs.reach`.
        """
        return INFINITY

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return a call to write for a module that needs such windows.

        Args:
            reach: The time after its end for which the module wants an event as a member.
            axis: The unit of ticks.
        """
        return f"window({cls.name!r}, ...)"

    def with_lengths(self, convert: Callable[[int], int]) -> Self:
        """Convert each length, as into another unit."""
        lengths = {name: convert(getattr(self, name)) for name in self.lengths}
        return replace(self, **lengths)  # type: ignore[type-var]  # every specification is a dataclass

    def check_lengths(self, longest: int, written: WrittenWindows | None = None) -> None:
        """Refuse a length that is too long for the axis.

        Args:
            longest: The longest one, in ticks.
            written: The windows as the query has them; None to spell their ticks.

        Raises:
            WindowError: A length is longer.
        """

        def checked(length: int) -> int:
            if abs(length) > longest:
                raise WindowError(
                    "{windows} has a length that is too long for a window\n"
                    "  expected: at most {longest} ticks, which are {days} days where the axis is time",
                    windows=written or WrittenWindows(self),
                    longest=longest,
                    days=longest // _TICKS_OF_A_DAY,
                )
            return length

        # Each kind knows where its lengths are, and converts them; here they stay as they are, for the check alone.
        self.with_lengths(checked)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that makes it, with lengths in words where the axis is time.

        Windows of a plugin are named by `window`, with all their fields. The call of Muntin's own has the name of the
        kind, fields without a default by place, and those with one by name where they have another value.
        """
        # The name of a plugin's kind has a dot: its plugin comes first.
        if "." in self.name:
            arguments = [f"{name}={self.spell_field(name, axis)}" for name in self._fields()]
            return f"window({', '.join([repr(self.name), *arguments])})"
        by_place: list[str] = []
        by_name: list[str] = []
        for part in fields(self):  # type: ignore[arg-type]  # every specification is a dataclass
            if part.default is MISSING:
                by_place.append(self.spell_field(part.name, axis))
            elif part.default != getattr(self, part.name):
                by_name.append(f"{part.name}={self.spell_field(part.name, axis)}")
        return f"{self.name}({', '.join(by_place + by_name)})"

    def spell_field(self, name: str, axis: Axis) -> str:
        """Return the value of a field as a query writes it."""
        value = getattr(self, name)
        if name in self.lengths and axis is Axis.TIME:
            return repr(axis.spell_length(value))
        if isinstance(value, TimeLength):
            # The length came as text or a timedelta, and the axis of the query is not known yet.
            return spell_as_written(value)
        return repr(_plain(value))

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return the function that makes the windows, or the name of their kind, and arguments that are no defaults."""
        arguments: dict[str, Any] = {}
        for part in fields(self):  # type: ignore[arg-type]  # every specification is a dataclass
            value = getattr(self, part.name)
            if part.default is MISSING or value != part.default:
                arguments[part.name] = value
        return self.name, arguments

    def describe(self, axis: Axis = Axis.TICKS) -> str:
        """Describe the windows for `explain()`: the call, and the version if the kind is a plugin's."""
        return f"{self.spell(axis)}, version {self.version}" if "." in self.name else self.spell(axis)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data: the name, the version and the fields of the windows, with lists in place of tuples."""
        written_fields = {name: self._field_written(value) for name, value in self._fields().items()}
        return {"kind": self.name, "version": self.version, **written_fields}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`; lists, as JSON has them, are read as tuples.

        Raises:
            WindowError: A field is not one of the kind, or one is missing.
        """
        values = {name: cls._field_read(value) for name, value in data.items() if name not in ("kind", "version")}
        try:
            return cls(**values)
        except TypeError as error:
            raise WindowError(f"{dict(data)!r} is not a {cls.name} window: {error}") from error

    @classmethod
    def named_by(cls, parameters: Mapping[str, Any]) -> Self:
        """Return windows of this kind as a query names them: lengths may be text."""
        return cls(**{name: ticks(value) if name in cls.lengths else value for name, value in parameters.items()})

    @classmethod
    def continues_from(cls, version: str) -> bool:
        """Return True if a query can continue from a checkpoint that another version of the kind wrote."""
        return continues(cls.version, version, cls.continues_since, upgrades=False)

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        """Return the value of a field as JSON reads it: with lists in place of tuples."""
        return list(map(cls._field_written, value)) if isinstance(value, tuple) else value

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        """Undo `_field_written`."""
        return tuple(map(cls._field_read, value)) if isinstance(value, list) else value

    def _fields(self) -> dict[str, object]:
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)}  # type: ignore[arg-type]


_TICKS_OF_A_DAY: Final = 86_400_000_000


def _plain(value: Any) -> Any:
    """Return a length without the note of how it was written."""
    if isinstance(value, DecimalLength):
        return value
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class WrittenWindows(Code):
    """Windows in a message, as a query writes them.

    Attributes:
        specification: The windows.
        axis: The unit of their ticks.
        in_python: The windows as Python has them; empty for the call that makes them.

    Example:
        >>> from muntin import tumbling
        >>> print(WrittenWindows(tumbling("10 minutes")))
        tumbling('10 minutes')
    """

    specification: WindowSpecification
    axis: Axis = Axis.TICKS
    in_python: str = ""

    def __str__(self) -> str:
        return self.in_python or self.specification.spell(self.axis)


@dataclass(frozen=True, slots=True)
class Unwindowed(WindowSpecification):
    """The specification of a query that has no windows, such as one that applies a stream operator or joins streams.

    It takes the place of windows in plans and checkpoints. A query writer never names it: `apply` and `join` of an
    event stream use it. Results have a column `lifetime`, and no column `window`.
    """

    name: ClassVar[str] = "unwindowed"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "a stream without windows"
    waits_for_events: ClassVar[bool] = False

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the calls that make a query without windows."""
        return "events(...).apply(module(...)), without .window(...)"

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return words: no call makes it."""
        return "no windows"


def check_kind(cls: type[WindowSpecification]) -> None:
    """Raise unless a plugin can offer windows, and a query use them, under a name and a version of their own."""
    # A subclass inherits the name and version of its parent: a checkpoint would take one kind for the other.
    for attribute in ("name", "version"):
        owner = next((base for base in cls.__mro__ if attribute in vars(base)), cls)
        if owner is not cls:
            raise ModuleDefinitionError(
                f"{cls.__qualname__} has the {attribute} {getattr(cls, attribute)!r} of {owner.__qualname__}\n"
                "  a checkpoint tells windows apart by name and version, so set both: name = 'shop.visits', version = "
                "'1.0'"
            )
    name = check_name(getattr(cls, "name", None), cls.__qualname__)
    # Windows are compared, hashed and stored by their fields.
    parameters: Any = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ModuleDefinitionError(
            f"{name} is not a frozen dataclass\n  expected: @dataclass(frozen=True, slots=True)"
        )
    missing_methods = getattr(cls, "__abstractmethods__", ())
    if missing_methods:
        raise undefined_methods(cls, name, missing_methods)
    for attribute, example in (("version", "1.0"), ("title", "windows between sales")):
        value = getattr(cls, attribute, None)
        if not isinstance(value, str) or not value:
            fault = f"has no {attribute}" if value in (None, "") else f"has {attribute} {value!r}, which is not text"
            raise ModuleDefinitionError(f"{name} {fault}\n  set the class attribute: {attribute} = {example!r}")
    check_attributes(cls, name)
    field_names: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    unknown = sorted(set(cls.lengths) - set(field_names))
    if unknown:
        raise ModuleDefinitionError(f"{name} has the lengths {unknown}, which are none of its fields")
