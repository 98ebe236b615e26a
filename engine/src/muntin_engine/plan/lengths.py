"""The lengths in a query's policies, in ticks of its axis.

`tumbling("10 minutes")` is written before anything knows what a tick is. The query does: on a time axis a tick is a
microsecond, on an axis of integers with a unit it is that unit, and on any other axis it has nothing to do with time.
Where times are decimals, a tick is one in the last place, and a length is a number of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, TypeVar, cast

from muntin import Axis
from muntin.axis import MOST_PLACES, BareClockLength, BareLength, DecimalLength, TimeLength, spell_ticks
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call, Seconds
from muntin.windows import WindowSpecification

T = TypeVar("T")

UNITS: Final[Mapping[str, int]] = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
"""Nanoseconds of the units that integer times may be in."""


_WORDS_FOR_FIELDS: Final[Mapping[str, str]] = {
    "allowed": "allowed lateness",
    "after": "time after which a source is idle",
    "period": "period of a timer",
    "size": "size of a window",
    "offset": "offset of the windows",
    "reach": "reach of a window",
    "second": "second of a calendar",
    "shift": "length of a shift",
    "extension": "length by which events end later",
    "reduction": "length by which events end earlier",
    "least": "least length of a shift",
}
"""What messages call the lengths in policies, by the names of their fields."""


def microseconds_of(tick: int, unit: str | None, decimal_places: int | None = None) -> int:
    """Convert a reading of a clock to microseconds since the epoch.

    Args:
        tick: The reading in ticks of the query's axis.
        unit: The unit of integer times; None for microseconds, and for decimals.
        decimal_places: The decimal places of times that are decimals, of which 1 is a microsecond; None for integers.

    Example:
        >>> microseconds_of(3, "ms"), microseconds_of(3, None), microseconds_of(3_500, None, 3)
        (3000, 3, 3)
    """
    if decimal_places is not None:
        return tick // int(10**decimal_places)
    if unit is None:
        return tick
    return tick * UNITS[unit] // UNITS["us"]


def in_microseconds(length: int, unit: str) -> int:
    """Convert a length in a unit to microseconds, rounded up."""
    nanoseconds = length * UNITS[unit]
    return -(-nanoseconds // UNITS["us"])  # a floor division of the negative number rounds up


def window_in_microseconds(window: WindowSpecification, unit: str) -> WindowSpecification:
    """Convert the lengths of windows from a unit to microseconds, in which messages spell them."""
    return window.with_lengths(lambda length: in_microseconds(length, unit))


def window_in_decimals(window: WindowSpecification, places: int) -> WindowSpecification:
    """Convert the lengths of windows from ticks of an axis of decimals to decimals, in which messages spell them."""
    return window.with_lengths(lambda length: DecimalLength.of(length, places))


@dataclass(frozen=True, slots=True)
class AxisScale:
    """The meaning of a tick of a query's axis.

    Attributes:
        axis: The axis: timestamps, or ticks of another quantity.
        unit: The unit of integer times, one of `UNITS`; None if they measure anything else.
        times: The query's name of the column of times, for messages.
        decimal_places: The decimal places of the times, if these are decimals.
    """

    axis: Axis
    unit: str | None = None
    times: str = "at"
    decimal_places: int | None = None

    def __post_init__(self) -> None:
        if self.unit is None:
            return
        if self.decimal_places is not None:
            raise QueryError(
                "the times in {times} are decimals, so {argument} says nothing of them\n"
                "  leave it out; or, if they are seconds, cast them to timestamp",
                argument="unit",
                value=self.unit,
                times=self.times,
            )
        if self.unit not in UNITS:
            raise QueryError(
                "{value!r} is not a unit of times\n  there are {units}",
                argument="unit",
                value=self.unit,
                units=", ".join(map(repr, UNITS)),
            )
        if self.axis is Axis.TIME:
            raise QueryError(
                "the times in {times} are timestamps, so {argument} says nothing of them: leave it out",
                argument="unit",
                value=self.unit,
                times=self.times,
            )

    def resolve(self, policy: T, name: str = "length") -> T:
        """Return a policy with all its lengths in ticks of the axis, as plain integers.

        Args:
            policy: A window, a progress policy, a trigger or any other dataclass with lengths, at any depth; or a
                length.
            name: The name of the length, for messages.

        Raises:
            QueryError: A length is a time on an axis that does not measure time, a time that is not a whole number of
                the axis's unit, or a bare number on an axis of time.
        """
        return cast("T", self._resolved(policy, name))

    def _resolved(self, value: Any, name: str) -> Any:
        """Return a value in ticks if it is a length, or with all lengths in it in ticks; any other value as it is."""
        if isinstance(value, DecimalLength):
            return self._of_decimal(value, name)
        if isinstance(value, BareLength) and self.decimal_places is not None:
            return int(value) * int(10**self.decimal_places)  # a whole number among decimals: 5 is 5.00
        if isinstance(value, TimeLength):
            return self._ticks(int(value), name)
        if isinstance(value, BareLength | BareClockLength):  # a number without a unit
            measures_time = self.axis is Axis.TIME or self.unit is not None
            if value and measures_time:  # zero is the same in every unit
                raise self._error_for_bare_number(int(value), name)
            return int(value)
        if isinstance(value, list | tuple):
            return type(value)(self._resolved(part, name) for part in value)
        if is_dataclass(value) and not isinstance(value, type):  # an object, and not the class itself
            return self._with_resolved_fields(value)
        return value

    def _with_resolved_fields(self, policy: Any) -> Any:
        """Return a dataclass with all lengths in it in ticks; the same object if there are none."""
        changed = {}
        for part in fields(policy):
            if part.init:
                value = getattr(policy, part.name)
                resolved = self._resolved(value, _WORDS_FOR_FIELDS.get(part.name, part.name))
                if resolved is not value:
                    changed[part.name] = resolved
        return replace(policy, **changed) if changed else policy

    def _ticks(self, microseconds: int, name: str) -> int:
        """Convert a length of time to ticks.

        Args:
            microseconds: The length.
            name: What messages call the length.

        Raises:
            QueryError: The axis does not measure time, or the length is not a whole number of its unit.
        """
        if self.axis is Axis.TIME or not microseconds:  # zero is the same in every unit
            return microseconds
        if self.decimal_places is not None:
            raise QueryError(
                f"the {name} is {spell_ticks(microseconds)}, and the times in {self.times} are decimals\n"
                "  give lengths as numbers, such as 5 or Decimal('0.25')"
            )
        if self.unit is None:
            raise QueryError(
                "the {name} is {length}, and the times in {times} are integers without a unit"
                "\n  say which they have, as in {with_unit}, or give lengths as integers",
                name=name,
                length=spell_ticks(microseconds),
                times=self.times,
                with_unit=Call("events", ..., Argument("unit", "ms")),
            )
        nanoseconds = microseconds * UNITS["us"]  # `UNITS` has the nanoseconds of each unit
        ticks, remainder = divmod(nanoseconds, UNITS[self.unit])
        if remainder:
            raise QueryError(
                f"the {name} is {spell_ticks(microseconds)}, which is not a whole number of the unit {self.unit!r}"
            )
        return ticks

    def _of_decimal(self, length: DecimalLength, name: str) -> int:
        """Convert a length that is a decimal number to ticks.

        Args:
            length: The length.
            name: What messages call the length.

        Raises:
            QueryError: The axis measures time, or its times have fewer decimal places.
        """
        if not length:
            return 0
        if self.axis is Axis.TIME or self.unit is not None:
            kind = "timestamps" if self.unit is None else f"in {self.unit}"
            raise QueryError(
                "the {name} is the number {length}, and the times in {times} are {kind}\n"
                "  say how long that is, for example {example}",
                name=name,
                length=length,
                times=self.times,
                kind=kind,
                example=Seconds("1.5"),
            )
        # A `DecimalLength` counts units of the last decimal place that any decimal can have. A tick is a whole number
        # of these units.
        places_of_tick = self.decimal_places or 0  # none if times are integers
        units_of_tick = int(10 ** (MOST_PLACES - places_of_tick))
        ticks, remainder = divmod(int(length), units_of_tick)
        if remainder:
            kind = "integers" if self.decimal_places is None else f"decimals of {self.decimal_places} places"
            raise QueryError(f"the {name} is {length}, and the times in {self.times} are {kind}")
        return ticks

    def _error_for_bare_number(self, length: int, name: str) -> QueryError:
        """Make the error for a length that is a number without a unit, on an axis that measures time.

        Args:
            length: The number.
            name: What messages call the length.
        """
        return QueryError(
            "the {name} is the bare number {length}, and the times in {times} are {kind}\n"
            "  say how long that is, for example {example}",
            name=name,
            length=length,
            times=self.times,
            kind="timestamps" if self.unit is None else f"in {self.unit}",
            example=Seconds(str(abs(length))),
        )
