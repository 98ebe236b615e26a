"""The arguments of calls as text: windows, policies, triggers, columns and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from functools import singledispatch
from typing import Any, Final, NamedTuple

from muntin import EarlyEmission, Lateness, LatePolicy
from muntin.axis import DecimalLength, TimeLength, spell_ticks
from muntin.errors import QueryError
from muntin.progress import Idle, ProgressPolicy
from muntin.rows.policies import CountPolicy, ElapsedPolicy, PlainPolicy
from muntin.triggers.composed import Repeat
from muntin.triggers.elementary import AfterCount, Past, Timer
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification
from muntin_engine.plan.values_as_data import IS, UNWRITABLE, path_of, value_to_data

KIND: Final = "kind"
"""The entry that says which windows, policy or trigger an object is: the name of the function that makes it."""

SQL: Final = "sql"
"""The only entry of an object that is a column: an expression, where text would be the name of one."""


def write_value(value: Any) -> Any:
    """Return an argument of a call as data: what JSON has, or an object with the function that makes it as `kind`.

    Raises:
        QueryError: Text cannot hold the value, such as a function.

    Example:
        >>> from muntin import hopping
        >>> write_value(hopping("1 hour", "10 minutes"))
        {'kind': 'hopping', 'size': '1 hour', 'hop': '10 minutes'}
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | str | float | Decimal | None):
        return value_to_data(value)
    if isinstance(value, int):
        return _write_length(value)
    if isinstance(value, timedelta):
        return spell_ticks(value // timedelta(microseconds=1))
    if isinstance(value, Mapping):
        return {str(name): write_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [write_value(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _write_object(value)
    return write_parameter(value)  # a plain value, such as a date


def write_parameter(value: Any) -> Any:
    """Return a parameter of a module as data, from which `ProgramClasses.parameter` makes an equal one.

    Raises:
        QueryError: Text cannot hold the value.
    """
    # A list is written as a list, and a tuple is marked. `value_to_data` does it the other way round.
    if type(value) is list:
        return [write_parameter(part) for part in value]
    if type(value) is tuple:
        return {IS: "tuple", "value": [write_parameter(part) for part in value]}
    if type(value) is dict and IS not in value and all(isinstance(name, str) for name in value):
        return {name: write_parameter(part) for name, part in value.items()}
    data = value_to_data(value)
    if _holds_unwritable(data):
        raise QueryError(
            f"{value!r:.80} cannot be written as text\n  expected: numbers, text, times, and lists or dicts of these"
        )
    return data


def _holds_unwritable(data: Any) -> bool:
    """Return True if data of `value_to_data` has, at any depth, a value that data cannot hold."""
    if isinstance(data, Mapping):
        return data.get(IS) == UNWRITABLE or any(map(_holds_unwritable, data.values()))
    return isinstance(data, list) and any(map(_holds_unwritable, data))


def _write_length(value: int) -> Any:
    """Return a whole number as data; a length of time or a decimal length as its query wrote it."""
    if isinstance(value, TimeLength):
        return spell_ticks(value)
    if isinstance(value, DecimalLength):
        # Its `repr` is the call that makes the number, such as `Decimal('0.25')`, or a whole number.
        number = Decimal(repr(value).removeprefix("Decimal('").removesuffix("')"))
        return value_to_data(number)
    return int(value)


def _write_object(value: Any) -> Any:
    """Return a policy, a trigger or windows as data: a number or a word if that says it all, else the call for it."""
    # In row windows, a number alone is a count of rows, and a time alone a length. So a length that is a number needs
    # the call, `elapsed`.
    if isinstance(value, CountPolicy):
        return value.size
    if isinstance(value, ElapsedPolicy) and isinstance(value.length, TimeLength):
        return spell_ticks(value.length)
    if isinstance(value, Lateness) and value.policy is not LatePolicy.CORRECT:
        return value.policy.value
    if isinstance(value, Idle):
        # Idleness is measured by a clock, whose lengths are time on every axis.
        lengths = {"after": spell_ticks(value.after)}
        if value.lag is not None:
            lengths["lag"] = spell_ticks(value.lag)
        return lengths
    call = call_of(value)
    return {KIND: call.function, **{name: write_value(argument) for name, argument in call.arguments.items()}}


class MakingCall(NamedTuple):
    """The call that makes an object.

    Attributes:
        function: The name of the function, or the path of a class that no function makes.
        arguments: The arguments of the call, by name.
    """

    function: str
    arguments: Mapping[str, Any]


@singledispatch
def call_of(value: Any) -> MakingCall:
    """Return the call that makes an object: of Muntin's function for it, or of its class where there is none."""
    return MakingCall(path_of(type(value)), _changed_fields(value))


@call_of.register
def _call_of_progress_policy(value: ProgressPolicy) -> MakingCall:
    """Return the call that makes a progress policy.

    No function has `by_key` as a parameter: `with_key_punctuation` sets it. Text has it as the entry `key_punctuation`.
    """
    arguments = _changed_fields(value)
    if arguments.pop("by_key", False):
        arguments["key_punctuation"] = True
    function = _PROGRESS_FUNCTIONS.get(type(value).__name__, path_of(type(value)))
    return MakingCall(function, arguments)


@call_of.register
def _call_of_elapsed_policy(value: ElapsedPolicy) -> MakingCall:
    return MakingCall("elapsed", {"period": value.length})


@call_of.register
def _call_of_row_policy(value: PlainPolicy) -> MakingCall:
    """Return the call that makes a policy of row windows."""
    # A policy has an attribute `call` where its function has another name than a checkpoint stores.
    function = getattr(value, "call", value.policy)
    return MakingCall(function, _changed_fields(value))


@call_of.register
def _call_of_lateness(value: Lateness) -> MakingCall:
    return MakingCall("correct", {"allowed": value.allowed})


@call_of.register
def _call_of_windows(value: WindowSpecification) -> MakingCall:
    function, arguments = value.call()
    return MakingCall(function, arguments)


@call_of.register
def _call_of_early_emission(value: EarlyEmission) -> MakingCall:
    return MakingCall("early", _changed_fields(value))


@call_of.register
def _call_of_trigger(value: Trigger) -> MakingCall:
    return MakingCall(value.name, _changed_fields(value))


@call_of.register
def _call_of_repeat(value: Repeat) -> MakingCall:
    """Return the call that makes a repeated trigger: of `every_count` or `every` where these make the same."""
    if isinstance(value.repeated, AfterCount):
        return MakingCall("every_count", {"count": value.repeated.count})
    if isinstance(value.repeated, Timer) and value.repeated.is_aligned:
        return MakingCall("every", {"period": spell_ticks(value.repeated.period)})
    return MakingCall("repeat", {"trigger": value.repeated})


@call_of.register
def _call_of_timer(value: Timer) -> MakingCall:
    """Return the call that makes a trigger that fires some time of the clock after a member came."""
    # The function `every` makes an aligned timer that is repeated. No function makes one alone: it is written by the
    # name of its kind.
    if value.is_aligned:
        return MakingCall(value.name, _changed_fields(value))
    return MakingCall("after", {"delay": spell_ticks(value.period)})


@call_of.register
def _call_of_past(value: Past) -> MakingCall:
    """Return the call that makes a trigger that fires once event time has reached the end, or a part, of a window."""
    if value.part == 1:  # the end; only there is a delay
        return MakingCall("past_end", {"delay": value.delay} if value.delay else {})
    return MakingCall("past_part", {"part": value.part})


_PROGRESS_FUNCTIONS: Final = {
    "BoundedDelay": "bounded_delay",
    "BoundedDisorder": "bounded_disorder",
    "Periodic": "punctuate_every",
    "Punctuated": "punctuated",
}
"""The functions that make progress policies, by the names of their classes."""


def _changed_fields(value: Any) -> dict[str, Any]:
    """Return the constructor's arguments of a dataclass object that differ from their defaults, by name."""
    changed = {}
    for part in fields(value):
        if part.init:
            argument = getattr(value, part.name)
            if part.default is MISSING or argument != part.default:
                changed[part.name] = argument
    return changed
