"""What errors say of values and exceptions that are huge, or raise when they are asked."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import MOST_CHARACTERS, safe_cause, safe_message, safe_repr

LONG = 20_000_000
"""How many characters the longest texts here have; an error is some kilobytes at most."""


class Mute(Exception):
    """An exception whose text raises another one."""

    def __str__(self) -> str:
        raise RuntimeError("not even that")


class Leaving(Exception):
    """An exception whose text ends the process."""

    def __str__(self) -> str:  # noqa: PLE0307  # it never returns
        sys.exit(3)


class Interrupting:
    """A value whose representation raises what no `except Exception` catches."""

    def __repr__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (Mute(), "Mute: <Mute, whose str() raises RuntimeError>"),
        (Leaving(), "Leaving: <Leaving, whose str() raises SystemExit>"),
        (ValueError("\ud800"), r"ValueError: \ud800"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_safe_message_of_any_exception_is_text_that_can_be_printed(error: BaseException, expected: str) -> None:
    assert safe_message(error) == expected


def test_a_long_message_loses_its_middle() -> None:
    message = safe_message(ValueError("a" * LONG + "the end"))
    assert len(message) < MOST_CHARACTERS + 100
    assert message.endswith("the end")
    assert "characters left out" in message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("a", 1), "('a', 1)"),
        (Interrupting(), "<Interrupting, whose repr() raises KeyboardInterrupt>"),
        (10**100_000, "an int of 332,193 bits"),
        ([10**100_000], "<list, whose repr() raises ValueError>"),
    ],
    ids=["plain", "raising", "huge", "in a list"],
)
def test_the_safe_text_of_any_value_is_short_and_nothing_is_raised(value: Any, expected: str) -> None:
    assert safe_repr(value) == expected


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Raise an exception, so that it has a traceback, and return it."""
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def with_notes(error: Exception, notes: object) -> Exception:
    error.__notes__ = notes  # type: ignore[assignment]  # a plugin may set anything
    return error


def test_an_exception_that_can_be_printed_is_its_own_safe_cause() -> None:
    error = raised(ValueError("short"), KeyError("too"))
    assert safe_cause(error) is error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a" * LONG),
        Leaving(),
        raised(ValueError("short"), KeyError("b" * LONG)),
        ExceptionGroup("many", [ValueError("c" * 1_000_000)] * 10),
        with_notes(ValueError("\ud800"), ["d" * LONG]),
        with_notes(ValueError("short"), 5),
        with_notes(ValueError("short"), [Mute()]),
    ],
    ids=["long", "leaving", "chained", "group", "no unicode, and a long note", "no list of notes", "a mute note"],
)
def test_a_traceback_with_any_safe_cause_can_be_written_and_is_short(error: Exception) -> None:
    raised_error = raised(raised(error))
    long_key = ("k" * LONG,)
    failed = ModuleFailedError("m.odule", "1.0.0", long_key, None, "add_events", raised_error)
    failed.__cause__ = safe_cause(raised_error)

    text = "".join(traceback.format_exception(failed))
    assert len(text.encode()) < 20_000
    assert type(error).__name__ in text
    assert "in raised" in text, "the lines of the cause"
    assert "m.odule 1.0.0 failed in add_events" in text


def test_a_long_chain_of_causes_is_cut_after_the_latest_ones() -> None:
    error: BaseException = ValueError(0)
    for number in range(1, 2000):
        error = raised(ValueError(number), cause=error)
    text = "".join(traceback.format_exception(safe_cause(error)))
    assert "ValueError: 1999" in text
    assert len(text) < 20_000
