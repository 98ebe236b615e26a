"""Policies of row windows, by which rows leave and windows trigger, and partitions with their limits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from muntin.axis import Axis, Duration, TimeLength, spell_as_written, ticks
from muntin.errors import WindowError


@dataclass(frozen=True, slots=True)
class PlainPolicy:
    """A part of row windows that is plain data.

    Attributes:
        policy: The name of the policy in a checkpoint.
        reads: The SQL expressions over the columns of the input whose values the policy needs of each row.
    """

    policy: ClassVar[str]

    @property
    def reads(self) -> tuple[str, ...]:
        """The expressions; empty by default, as the number and the time of a row are known without any."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data: the policy's name and its fields."""
        data: dict[str, Any] = {"policy": self.policy}
        for field in fields(self):
            value = getattr(self, field.name)
            # A length is of a subclass of int that says how it was written, which data does not keep. A bool is an
            # int, too, and stays true or false.
            is_length = isinstance(value, int) and type(value) is not bool
            data[field.name] = int(value) if is_length else value
        return data

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PlainPolicy:
        """Make a policy from the data of `to_dict`.

        Raises:
            WindowError: There is no such policy, or it has other fields.
        """
        # Policies are found by the names in checkpoints, as the names of classes may change.
        classes = {cls.policy: cls for cls in (*_POLICIES, Partitions)}
        name = str(data.get("policy"))
        if name not in classes:
            raise WindowError(f"{dict(data)!r} is not a policy of row windows; there are {', '.join(classes)}")
        values = {field: value for field, value in data.items() if field != "policy"}
        try:
            return classes[name](**values)
        except TypeError as error:
            raise WindowError(f"{dict(data)!r} is not a policy of row windows: {error}") from error


@dataclass(frozen=True, slots=True)
class CountPolicy(PlainPolicy):
    """A number of rows; written as a number."""

    policy: ClassVar[str] = "count"

    size: int

    def __post_init__(self) -> None:
        if type(self.size) is not int or self.size <= 0:
            raise WindowError(f"a number of rows is a whole number above zero, got {self.size!r}")

    def spell(self, axis: Axis) -> str:
        """Spell the policy as a query writes it."""
        return repr(self.size)


@dataclass(frozen=True, slots=True)
class ElapsedPolicy(PlainPolicy):
    """A length of time of the axis, in ticks; written as a length, or by `elapsed`."""

    policy: ClassVar[str] = "elapsed"

    length: int

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise WindowError(f"the time of a row window is above zero, got {spell_as_written(self.length)}")

    def spell(self, axis: Axis) -> str:
        """Spell the policy as a query writes it."""
        is_time = axis is Axis.TIME or isinstance(self.length, TimeLength)
        if is_time:
            return self.spell_length(axis)
        return f"elapsed({self.spell_length(axis)})"  # a bare number would count rows

    def spell_length(self, axis: Axis) -> str:
        """Spell the length for a place where a query can have only a length, such as `within=`."""
        if axis is Axis.TIME:
            return repr(axis.spell_length(self.length))
        return spell_as_written(self.length)


@dataclass(frozen=True, slots=True)
class DeltaPolicy(PlainPolicy):
    """A difference of an attribute; made by `delta`, whose arguments are the fields, with a length of time in ticks."""

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
        """Return True if an attribute is larger than an earlier one by more than the size; False with a null or NaN."""
        return new is not None and old is not None and new - old > self.size

    def spell(self, axis: Axis) -> str:
        """Spell the policy as a query writes it."""
        start = "" if self.start is None else f", start={self.start!r}"
        size = spell_as_written(self.size) if isinstance(self.size, int) else repr(self.size)
        return f"delta({self.attribute!r}, {size}{start})"


@dataclass(frozen=True, slots=True)
class _RowCondition(PlainPolicy):
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
        """Spell the policy as a query writes it."""
        return f"{self.call}({self.condition!r})"


class MarkerPolicy(_RowCondition):
    """The condition of rows that end a window and are no members; made by `marker`."""

    __slots__ = ()
    policy = call = "marker"


class ConditionPolicy(_RowCondition):
    """The condition of rows that trigger a window and are members of it; made by `on_row`."""

    __slots__ = ()
    policy = "condition"
    call = "on_row"


RowPolicy: TypeAlias = CountPolicy | ElapsedPolicy | DeltaPolicy | MarkerPolicy | ConditionPolicy
"""A policy that makes rows leave a window, or a window trigger."""

_POLICIES: Final = (CountPolicy, ElapsedPolicy, DeltaPolicy, MarkerPolicy, ConditionPolicy)


def policy_of(value: RowPolicy | int | str | timedelta) -> RowPolicy:
    """Read a policy as a query writes it: a bare number counts rows, and a length of time measures the axis.

    Raises:
        WindowError: The value is not a policy.
        DurationError: A text is not a length of time.
    """
    if isinstance(value, RowPolicy):
        return value
    if isinstance(value, str | timedelta):
        return ElapsedPolicy(ticks(value))
    count: object = value  # at run time a caller may give a value of any type
    if isinstance(count, int) and not isinstance(count, bool):
        return CountPolicy(count)
    raise WindowError(
        f"{value!r} is not a policy of row windows\n"
        "  expected: a number of rows, a length of time such as '10 minutes', delta(...), elapsed(...), marker(...) or "
        "on_row(...)"
    )


class PartitionView(NamedTuple):
    """A partition, as `select_partitions` sees it.

    Attributes:
        partition: The value of the partition.
        rows: The number of rows it holds.
        last: The time of the last row that was inserted.
    """

    partition: Hashable
    rows: int
    last: int


@dataclass(frozen=True, slots=True)
class Partitions(PlainPolicy):
    """The partitions of a row window: each has rows, eviction and triggers of its own.

    The fields are the arguments of `PartitionedRows.partition`, `age` in ticks.
    """

    policy: ClassVar[str] = "partitions"

    by: str
    age: int | None = None
    most: int | None = None
    most_rows: int | None = None
    on_insertion: bool = False

    def __post_init__(self) -> None:
        check_expression("partition", self.by)
        for name in ("age", "most", "most_rows"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0):
                raise WindowError(f"the limit {name} of partitions is a whole number above zero, got {limit!r}")

    @property
    def has_limits(self) -> bool:
        """True if partitions may be removed."""
        return any(limit is not None for limit in (self.age, self.most, self.most_rows))

    def spell(self, axis: Axis) -> str:
        """Return the call of `partition`, as a query writes it."""
        age = None if self.age is None else ElapsedPolicy(self.age).spell_length(axis)
        limits = {"age": age, "most": self.most, "most_rows": self.most_rows}
        arguments = [f"{name}={limit}" for name, limit in limits.items() if limit is not None]
        if self.on_insertion:
            arguments.append("on_insertion=True")
        return f"partition({', '.join([repr(self.by), *arguments])})"


def delta(attribute: str, size: str | timedelta | float, *, start: float | None = None) -> DeltaPolicy:
    """Return the policy of an attribute that grows by more than a size.

    A null or NaN is not larger than any value. A row with such an attribute leaves `last(delta(...))` together with the
    row before it.

    Args:
        attribute: A column of the input, or an SQL expression over its columns, of a type that can be subtracted. Times
            count in ticks of microseconds.
        size: The difference; for a time it may be text such as `"10 minutes"`.
        start: The value from which the first difference of a trigger counts; by default the attribute of the first row.

    Raises:
        WindowError: The size is negative or not a number.

    Example:
        >>> delta("price", 0.5)
        DeltaPolicy(attribute='price', size=0.5, start=None)
    """
    if isinstance(size, str | timedelta):
        size = int(ticks(size))
    return DeltaPolicy(attribute, size, start)


def elapsed(period: Duration) -> ElapsedPolicy:
    """Return the policy of elapsed time of the axis. In a query, text such as `"10 seconds"` means the same policy.

    Args:
        period: The length of time; a bare number is in ticks of an axis that is not time.

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

    A condition on a number that counts rows as they arrive, such as an offset, gives windows at every n-th row in the
    order of arrival, whatever their times are. (The thesis *Window Queries over Data Streams*, section 5.1.5: slide by
    n rows over row numbers.)

    Args:
        condition: An SQL expression over the columns of the input, true of such rows, for example `"offset % 10 = 9"`.
            Null is not true.

    Example:
        >>> from muntin.rows import last
        >>> print(last("5 minutes").trigger(on_row("offset % 10 = 9")))
        last('5 minutes').trigger(on_row('offset % 10 = 9'))
    """
    return ConditionPolicy(condition)


def check_expression(call: str, expression: object) -> None:
    """Refuse anything but an SQL expression as text."""
    if not isinstance(expression, str) or not expression:
        raise WindowError(f"{call}() takes a column or an SQL expression as text, got {expression!r}")
