"""Policies of row windows: they make rows leave a window, and a window trigger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, ClassVar, Final, TypeAlias

from muntin.axis import Axis, Duration, spell_given, spell_number, ticks
from muntin.errors import WindowError


@dataclass(frozen=True, slots=True)
class CountPolicy:
    """So many rows; given as a number.

    Attributes:
        size: How many.
    """

    policy: ClassVar[str] = "count"

    size: int

    def __post_init__(self) -> None:
        if type(self.size) is not int or self.size <= 0:
            raise WindowError(f"a number of rows is a whole number above zero, got {self.size!r}")

    @property
    def reads(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def spell(self, axis: Axis) -> str:
        """Return it as a query writes it."""
        del axis
        return repr(self.size)


@dataclass(frozen=True, slots=True)
class ElapsedPolicy:
    """So much time of the axis; given as a length of time, or by `elapsed`.

    Attributes:
        length: How much.
    """

    policy: ClassVar[str] = "elapsed"

    length: int

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise WindowError(f"the time of a row window is above zero, got {spell_given(self.length)}")

    @property
    def reads(self) -> tuple[str, ...]:
        """Nothing: the time of a row is known."""
        return ()

    def spell(self, axis: Axis) -> str:
        """Return it as a query writes it."""
        return repr(axis.spell_length(self.length)) if axis is Axis.TIME else f"elapsed({spell_number(self.length)})"


@dataclass(frozen=True, slots=True)
class DeltaPolicy:
    """A difference of an attribute; made by `delta`.

    Attributes:
        attribute: An SQL expression over the columns of the input, of a type that can be subtracted.
        size: The difference.
        start: From where the first difference of a trigger counts; None for the attribute of the first row.
    """

    policy: ClassVar[str] = "delta"

    attribute: str
    size: float
    start: float | None = None

    def __post_init__(self) -> None:
        check_expression("delta", self.attribute)
        size: object = self.size
        if isinstance(size, bool) or not isinstance(size, int | float) or not size >= 0:
            raise WindowError(f"the size of a delta is a number, zero or above, got {size!r}")

    @property
    def reads(self) -> tuple[str, ...]:
        """The attribute."""
        return (self.attribute,)

    def is_exceeded(self, new: Any, old: Any) -> bool:
        """True if an attribute is larger than an earlier one by more than the size; never with a null, or NaN."""
        return new is not None and old is not None and new - old > self.size

    def spell(self, axis: Axis) -> str:
        """Return it as a query writes it."""
        del axis
        start = "" if self.start is None else f", start={self.start!r}"
        size = int(self.size) if isinstance(self.size, int) else self.size
        return f"delta({self.attribute!r}, {size!r}{start})"


@dataclass(frozen=True, slots=True)
class _RowCondition:
    """A condition on a row.

    Attributes:
        condition: An SQL expression over the columns of the input, of type boolean.
    """

    call: ClassVar[str]

    condition: str

    def __post_init__(self) -> None:
        check_expression(self.call, self.condition)

    @property
    def reads(self) -> tuple[str, ...]:
        """The condition."""
        return (self.condition,)

    def spell(self, axis: Axis) -> str:
        """Return it as a query writes it."""
        del axis
        return f"{self.call}({self.condition!r})"


@dataclass(frozen=True, slots=True)
class MarkerPolicy(_RowCondition):
    """A row that is no member and ends a window; made by `marker`.

    Attributes:
        condition: An SQL expression over the columns of the input, of type boolean.
    """

    policy: ClassVar[str] = "marker"
    call: ClassVar[str] = "marker"


@dataclass(frozen=True, slots=True)
class ConditionPolicy(_RowCondition):
    """A row that meets a condition, and is a member; made by `on_row`.

    Attributes:
        condition: An SQL expression over the columns of the input, of type boolean.
    """

    policy: ClassVar[str] = "condition"
    call: ClassVar[str] = "on_row"


RowPolicy: TypeAlias = CountPolicy | ElapsedPolicy | DeltaPolicy | MarkerPolicy | ConditionPolicy
"""A policy that makes rows leave a window, or a window trigger."""

_POLICIES: Final[Mapping[str, type[RowPolicy]]] = {
    cls.policy: cls for cls in (CountPolicy, ElapsedPolicy, DeltaPolicy, MarkerPolicy, ConditionPolicy)
}


def policy_of(given: RowPolicy | int | str | timedelta) -> RowPolicy:
    """Return a policy as a query writes it: a number counts rows, and a length of time measures the axis.

    Raises:
        WindowError: It is none.
        DurationError: A length of time cannot be read.

    Example:
        >>> policy_of(10), policy_of("10 seconds")
        (CountPolicy(size=10), ElapsedPolicy(length=10000000))
    """
    if isinstance(given, RowPolicy):
        return given
    if isinstance(given, str | timedelta):
        return ElapsedPolicy(ticks(given))
    count: object = given
    if isinstance(count, int) and not isinstance(count, bool):
        return CountPolicy(count)
    raise WindowError(
        f"{given!r} is no policy of row windows\n"
        "  expected: a number of rows, a length of time such as '10 minutes', delta(...), elapsed(...), marker(...) or "
        "on_row(...)"
    )


def policy_to_dict(policy: RowPolicy) -> dict[str, Any]:
    """Return a policy as JSON-able data."""
    values = {part.name: getattr(policy, part.name) for part in fields(policy)}
    return {"policy": policy.policy} | {
        name: int(value) if isinstance(value, int) else value for name, value in values.items()
    }


def policy_from_dict(data: Mapping[str, Any]) -> RowPolicy:
    """Undo `policy_to_dict`.

    Raises:
        WindowError: There is no such policy, or one of its fields is missing or none of it.

    Example:
        >>> policy_from_dict({"policy": "delta", "attribute": "age", "size": 2})
        DeltaPolicy(attribute='age', size=2, start=None)
    """
    name = str(data.get("policy"))
    if name not in _POLICIES:
        raise WindowError(f"{dict(data)!r} is no policy of row windows; there are {', '.join(_POLICIES)}")
    try:
        return _POLICIES[name](**{part: value for part, value in data.items() if part != "policy"})
    except TypeError as error:
        raise WindowError(f"{dict(data)!r} is no policy of row windows: {error}") from error


def delta(attribute: str, size: str | timedelta | float, *, start: float | None = None) -> DeltaPolicy:
    """Return the policy of a difference: an attribute that is larger by more than a size.

    A null, or NaN, is larger than nothing. A row that has one leaves `last(delta(...))` with the row before it.

    Args:
        attribute: A column of the input, or an SQL expression over its columns. Times count in ticks of microseconds.
        size: The difference; for a time it may be text such as `"10 minutes"`.
        start: From where the first difference of a trigger counts; by default from the attribute of the first row.

    Raises:
        WindowError: The size is negative or no number.

    Example:
        >>> delta("price", 0.5)
        DeltaPolicy(attribute='price', size=0.5, start=None)
    """
    return DeltaPolicy(attribute, int(ticks(size)) if isinstance(size, str | timedelta) else size, start)


def elapsed(period: Duration) -> ElapsedPolicy:
    """Return the policy of elapsed time of the axis; a length of time given as text means the same.

    Args:
        period: How much; a bare number is in ticks of an axis that is not time.

    Example:
        >>> elapsed("10 seconds") == policy_of("10 seconds")
        True
    """
    return ElapsedPolicy(ticks(period))


def marker(condition: str) -> MarkerPolicy:
    """Return the policy of rows that end a window and are no members: IBM Streams' window punctuation.

    Args:
        condition: An SQL expression over the columns of the input, true of such rows, for example
            `"kind = 'end of file'"`.

    Example:
        >>> marker("kind = 'end of file'").reads
        ("kind = 'end of file'",)
    """
    return MarkerPolicy(condition)


def on_row(condition: str) -> ConditionPolicy:
    """Return the policy of rows that trigger a sliding window, as members of it: `last("5 minutes").trigger(...)`.

    A condition on a number that counts rows as they arrive, such as an offset, gives windows at every n-th of them in
    that order, wherever their times lie. (The thesis *Window Queries over Data Streams*, section 5.1.5: slide by n rows
    over row numbers.)

    Args:
        condition: An SQL expression over the columns of the input, true of such rows, for example `"offset % 10 = 9"`.
            Null is not true.

    Example:
        >>> from muntin.rows import last
        >>> print(last("5 minutes").trigger(on_row("offset % 10 = 9")))
        last(elapsed(300000000)).trigger(on_row('offset % 10 = 9'))
    """
    return ConditionPolicy(condition)


def check_expression(call: str, expression: object) -> None:
    """Refuse what is no SQL expression.

    Raises:
        WindowError: It is not text, or empty.
    """
    if not isinstance(expression, str) or not expression:
        raise WindowError(f"{call}() takes a column or an SQL expression as text, got {expression!r}")
