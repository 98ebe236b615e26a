"""The arguments of calls as plain data: windows, policies, triggers, columns and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from muntin import EarlyEmission, Lateness, LatePolicy
from muntin.axis import DecimalLength, TimeLength, spell_ticks
from muntin.errors import QueryError
from muntin.progress import Idle, ProgressPolicy
from muntin.rows.policies import CountPolicy, ElapsedPolicy, PlainPolicy
from muntin.triggers.composed import Repeat
from muntin.triggers.elementary import AfterCount, Past, Timer
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification
from muntin_engine.api.text.kinds import KIND
from muntin_engine.plan.plain_data import IS, path_of, written


def write_value(value: Any) -> Any:
    """Return an argument of a call as data: what JSON has, or an object with the function that makes it as `kind`.

    Raises:
        QueryError: It is nothing that text can hold, such as a function.

    Example:
        >>> from muntin import hopping
        >>> write_value(hopping("1 hour", "10 minutes"))
        {'kind': 'hopping', 'size': '1 hour', 'hop': '10 minutes'}
    """
    found: Any = value
    if isinstance(value, Enum):
        found = value.value
    elif isinstance(value, bool | str | float | None):
        found = written(value)
    elif isinstance(value, int):
        found = _length(value)
    elif isinstance(value, timedelta):
        found = spell_ticks(value // timedelta(microseconds=1))
    elif isinstance(value, Mapping):
        found = {str(name): write_value(part) for name, part in value.items()}
    elif isinstance(value, list | tuple):
        found = [write_value(part) for part in value]
    elif isinstance(value, Decimal):
        found = written(value)
    elif is_dataclass(value) and not isinstance(value, type):
        found = _object(value)
    else:
        found = write_parameter(value)
    return found


def write_parameter(value: Any) -> Any:
    """Return a parameter of a module as data, from which `GivenClasses.parameter` makes an equal one.

    Raises:
        QueryError: It is nothing that text can hold.
    """
    if type(value) is list:
        return [write_parameter(part) for part in value]
    if type(value) is tuple:
        return {"is": "tuple", "value": [write_parameter(part) for part in value]}
    if type(value) is dict and IS not in value and all(isinstance(name, str) for name in value):
        return {name: write_parameter(part) for name, part in value.items()}
    found = written(value)
    if _holds_unwritable(found):
        raise QueryError(
            f"{value!r:.80} cannot be written as text\n  expected: numbers, text, times, and lists or dicts of these"
        )
    return found


def _holds_unwritable(data: Any) -> bool:
    if isinstance(data, Mapping):
        return data.get("is") == "unwritable" or any(map(_holds_unwritable, data.values()))
    return isinstance(data, list) and any(map(_holds_unwritable, data))


def _length(value: int) -> Any:
    if isinstance(value, TimeLength):
        return spell_ticks(value)
    if isinstance(value, DecimalLength):
        number = Decimal(repr(value).removeprefix("Decimal('").removesuffix("')"))
        return written(number)
    return int(value)


def _object(value: Any) -> Any:
    """Return a policy, a trigger or windows as data, by the function that makes it."""
    if isinstance(value, CountPolicy):
        return value.size
    if isinstance(value, ElapsedPolicy) and isinstance(value.length, TimeLength):
        return spell_ticks(value.length)
    if isinstance(value, Lateness) and value.policy is not LatePolicy.CORRECT:
        return value.policy.value
    if isinstance(value, Idle):  # by a clock, whose lengths are always time
        return {"after": spell_ticks(value.after), **({} if value.lag is None else {"lag": spell_ticks(value.lag)})}
    kind, parts = _named(value)
    return {KIND: kind, **{name: write_value(part) for name, part in parts.items()}}


def _named(value: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the function that makes an object, and its arguments."""
    found: tuple[str, Mapping[str, Any]]
    match value:
        case Repeat() | Timer(is_aligned=False) | Past():
            found = _named_trigger(value)
        case ProgressPolicy():
            parts = _changed(value)
            if parts.pop("by_key", False):
                parts["key_punctuation"] = True
            found = _PROGRESS.get(type(value).__name__, path_of(type(value))), parts
        case ElapsedPolicy():
            found = "elapsed", {"period": value.length}
        case Lateness():
            found = "correct", {"allowed": value.allowed}
        case PlainPolicy():
            found = getattr(value, "call", value.policy), _changed(value)
        case WindowSpecification():
            found = value.call()
        case Trigger() | EarlyEmission():
            found = getattr(value, "name", "early"), _changed(value)
        case _:
            found = path_of(type(value)), _changed(value)
    return found


def _named_trigger(value: Repeat | Timer | Past) -> tuple[str, dict[str, Any]]:
    """Return the function that makes a trigger whose class has another name than it."""
    match value:
        case Repeat(repeated=AfterCount(count=count)):
            return "every_count", {"count": count}
        case Repeat(repeated=Timer(is_aligned=True) as timer):
            return "every", {"period": spell_ticks(timer.period)}
        case Repeat():
            return "repeat", {"trigger": value.repeated}
        case Timer():
            return "after", {"delay": spell_ticks(value.period)}
        case _ if value.part == 1:
            return "past_end", {"delay": value.delay} if value.delay else {}
        case _:
            return "past_part", {"part": value.part}


_PROGRESS: Final = {
    "BoundedDelay": "bounded_delay",
    "BoundedDisorder": "bounded_disorder",
    "Periodic": "punctuate_every",
    "Punctuated": "punctuated",
}
"""The functions that make progress policies, by the names of their classes."""


def _changed(value: Any) -> dict[str, Any]:
    """Return the fields of an object that differ from their defaults."""
    parts = {part.name: (getattr(value, part.name), part.default) for part in fields(value) if part.init}
    return {name: own for name, (own, default) in parts.items() if default is MISSING or own != default}
