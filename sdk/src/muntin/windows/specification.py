"""The common part of windows over time and windows over rows."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from inspect import get_annotations
from typing import Any, ClassVar, Final, Self

from muntin.axis import INFINITY, Axis, DecimalLength, TimeLength, spell_as_written, ticks
from muntin.definitions.attributes import check_attributes
from muntin.definitions.methods import check_name, undefined_methods
from muntin.definitions.versions import continues
from muntin.errors import ModuleDefinitionError, WindowError
from muntin.errors.messages import Code
from muntin.windows.regular import GrowingSteps, RegularWindows


class WindowContext(StrEnum):
    """The knowledge of other rows that is needed to tell the windows of a row (Li 2008, section 6.1.2).

    The less is needed, the earlier a row can be counted and forgotten: rows of context-free windows are counted as they
    come, and where later rows matter, rows have to be kept until those have come.
    """

    FREE = "free"
    """Nothing: the windows follow from the row alone, as hopping, tumbling, calendar, cumulating, landmark and global
    windows do, and count windows over one time."""
    BACKWARD = "backward"
    """Earlier rows, for example their number: for count windows over one start where only every n-th start opens a
    window, batches of rows, rows between two rows, and the last rows where a number of rows both evicts and
    triggers."""
    FORWARD = "forward"
    """Later rows too: for snapshot, session and trailing windows, count windows over several times, other sliding row
    windows, and row windows that are only computed if a row closes them."""


class WindowSpecification(ABC):
    """Windows as plain data: a name, a version and fields. There are two families of windows.

    A `WindowKind` cuts the axis, and the order of rows means nothing to it. `RowWindows` follow the rows of a key one
    by one, in the order of a column.

    Attributes:
        name: The name a query and a checkpoint use: `"<plugin>.<kind>"`, or words for Muntin's own kinds.
        version: The kind's version; it is part of a query's identity in a checkpoint.
        continues_since: The oldest version whose checkpoints this version can continue, because windows have meant the
            same since then. None, the default, allows only checkpoints of the same version.
        title: The name of windows of the kind in messages, such as `"snapshot windows"`.
        lengths: The names of the fields that are lengths on the axis. A query may give them as `"10 minutes"`, and they
            are spelled that way.
        waits_for_events: False if the extents of windows are known before any event, as on a grid or in a calendar.
        ends_move: True if a boundary at the watermark itself may still move. Windows then close one tick later.
        can_be_time_bound: True if results may be time-bound.
        keeps_all: True if every event counts in infinitely many windows, so that no event is dropped before the stream
            is closed.
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
        """Return a grid with the same windows and members; None, the default, if there is no such grid.

        Windows with a grid may be computed by slices. A grid of ticks is a `HoppingWindows`. Windows that consist of a
        fixed number of periods, such as months, which differ in length, are `PeriodWindows`. Messages name a kind
        without a grid, and `explain()` says that it has none.
        """
        return None

    def growing(self) -> GrowingSteps | None:
        """Return the steps of windows that share a start and grow by steps; None, the default, for other windows.

        The windows grow up to a period, or without an end. In other words: `cut` yields the steps, an event of one tick
        counts from its step to the end of its period, and `extent_start` is the start of the period. One running state
        per key is then enough.
        """
        return None

    def fuses_within(self) -> int | None:
        """Return the gap of windows that fuse like sessions; None, the default, for other windows.

        An event counts until a gap after its last tick, and windows are the connected stretches. In other words:
        `membership(start, end)` is `(start, end - 1 + gap)`, and `cut` yields the parts of `stretches.covered`. The
        partial states of windows that become one may then be fused.
        """
        return None

    def cuts_at_edges(self) -> bool:
        """Return True if each start and end of an event is a cut, and windows lie between neighbouring cuts.

        In other words: `membership(start, end)` is `(start, end)`, and `cut` yields the pairs of neighbours in
        `stretches.edges`. Partial states of such windows may be added where events start and subtracted where they
        end. The default is False.
        """
        return False

    @property
    def reach(self) -> int:
        """The time after its end for which an event may count; where windows wait for events, some may count longer."""
        return 0

    @property
    def least_events(self) -> int:
        """The number of events of a key without which no window ends: 1, except for windows that count events."""
        return 1

    @property
    def longest(self) -> int | None:
        """The length of the longest window in ticks; None if it depends on events, or is not known."""
        return None

    @property
    def time_zone(self) -> str | None:
        """The name of the time zone whose clock cuts the axis; None if no clock does."""
        return None

    @property
    def context(self) -> WindowContext:
        """The knowledge of other rows that is needed to tell the windows of a row."""
        return WindowContext.FORWARD if self.waits_for_events else WindowContext.FREE

    def with_reach(self, reach: int) -> Self:
        """Return windows in which an event counts for at least `reach` ticks after its end.

        Windows of a kind for which a reach means nothing are returned as they are.
        """
        return self

    @property
    def holds_past(self) -> int:
        """The time after its end for which an event certainly shares a window with each later event.

        `INFINITY`, the default, if such a time cannot be given; no module is then refused for its `Needs.reach`.
        """
        return INFINITY

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call of some windows of this kind: an example for a query whose module needs windows of the kind.

        Args:
            reach: The time after its end for which the module wants an event as a member.
            axis: The unit of ticks.
        """
        return f"window({cls.name!r}, ...)"

    def with_lengths(self, convert: Callable[[int], int]) -> Self:
        """Return the windows with each length converted, for example into another unit."""
        lengths = {name: convert(getattr(self, name)) for name in self.lengths}
        return replace(self, **lengths)  # type: ignore[type-var]  # every specification is a dataclass

    def check_lengths(self, longest: int, written: WrittenWindows | None = None) -> None:
        """Refuse windows with a length that is too long for the axis.

        Args:
            longest: The longest length that is allowed, in ticks.
            written: The windows as the query has them; None to spell their ticks.

        Raises:
            WindowError: A length is longer.
        """

        def checked(length: int) -> int:
            """Return a length as it is, or refuse it."""
            if abs(length) > longest:
                raise WindowError(
                    "{windows} has a length that is too long for a window\n"
                    "  expected: at most {longest} ticks, which are {days} days where the axis is time",
                    windows=written or WrittenWindows(self),
                    longest=longest,
                    days=longest // _TICKS_OF_A_DAY,
                )
            return length

        # A kind may keep its lengths elsewhere than in fields, and only its `with_lengths` visits all of them. The
        # windows that it returns are not needed.
        self.with_lengths(checked)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call that makes the windows, with lengths in words where the axis is time.

        A kind of a plugin is called by `window`, with all its fields. A kind of Muntin's own is called by its name:
        fields without a default are positional arguments, and those with a default are named if they differ from it.
        """
        # The name of a plugin's kind has a dot: its plugin comes first.
        if "." in self.name:
            arguments = [f"{name}={self.spell_field(name, axis)}" for name in self._fields()]
            return f"window({', '.join([repr(self.name), *arguments])})"

        positional: list[str] = []
        named: list[str] = []
        for field in fields(self):  # type: ignore[arg-type]  # every specification is a dataclass
            if field.default is MISSING:
                positional.append(self.spell_field(field.name, axis))
            elif field.default != getattr(self, field.name):
                named.append(f"{field.name}={self.spell_field(field.name, axis)}")
        return f"{self.name}({', '.join(positional + named)})"

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
        """Return the call that makes the windows, as data.

        Returns:
            The name of the function, or of a plugin's kind, and the arguments by name, without those that have their
            default value.
        """
        arguments: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]  # every specification is a dataclass
            value = getattr(self, field.name)
            if field.default is MISSING or value != field.default:
                arguments[field.name] = value
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
        """Make windows from the data of `to_dict`; lists, as JSON has them, are read as tuples.

        Raises:
            WindowError: The data has a field that the kind does not have, or lacks one.
        """
        values = {name: cls._field_read(value) for name, value in data.items() if name not in ("kind", "version")}
        try:
            return cls(**values)
        except TypeError as error:
            raise WindowError(f"{dict(data)!r} is not a {cls.name} window: {error}") from error

    @classmethod
    def named_by(cls, parameters: Mapping[str, Any]) -> Self:
        """Make windows of this kind from parameters as a query writes them: lengths may be text."""
        values: dict[str, Any] = {}
        for name, value in parameters.items():
            values[name] = ticks(value) if name in cls.lengths else value
        return cls(**values)

    @classmethod
    def continues_from(cls, version: str) -> bool:
        """Return True if a query can continue from a checkpoint that another version of the kind wrote."""
        return continues(cls.version, version, cls.continues_since, upgrades=False)

    @classmethod
    def _field_written(cls, value: Any) -> Any:
        """Return the value of a field for JSON: with lists in place of tuples, at any depth."""
        return list(map(cls._field_written, value)) if isinstance(value, tuple) else value

    @classmethod
    def _field_read(cls, value: Any) -> Any:
        """Return the value of a field from JSON: with tuples in place of lists, at any depth."""
        return tuple(map(cls._field_read, value)) if isinstance(value, list) else value

    def _fields(self) -> dict[str, object]:
        """Return the values of the fields by name, with lengths as plain numbers."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


_TICKS_OF_A_DAY: Final = 86_400_000_000


def _plain(value: Any) -> Any:
    """Return a length as a plain int, without the class that says how it was written; other values as they are."""
    # A decimal length is no number of ticks yet: only a query knows how many decimal places its times have.
    if isinstance(value, DecimalLength):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


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
    """Refuse a class of windows that a plugin cannot offer, or a query cannot use.

    Raises:
        ModuleDefinitionError: The class has no name or version of its own, or no title; it is not a frozen dataclass;
            or a method, an attribute or a length is missing or misspelled.
    """
    # A subclass inherits the name and version of its parent: a checkpoint would take one kind for the other.
    for attribute in ("name", "version"):
        # An attribute that no class has is refused below: here the class itself counts as its owner.
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
    if parameters is None or not parameters.frozen or _has_attributes_that_are_no_fields(cls):
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
    unknown_lengths = sorted(set(cls.lengths) - set(field_names))
    if unknown_lengths:
        raise ModuleDefinitionError(f"{name} has the lengths {unknown_lengths}, which are none of its fields")


def _has_attributes_that_are_no_fields(cls: type) -> bool:
    """True if a class without the decorator `@dataclass` declares attributes: it has only the fields of its parent."""
    if "__dataclass_params__" in vars(cls):
        return False
    # These are the annotations of the class alone, without those of its parents. An annotation may be text.
    return any("ClassVar" not in str(annotation) for annotation in get_annotations(cls).values())
