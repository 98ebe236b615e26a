"""What errors say of values and exceptions that are huge, or raise when they are asked."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import MOST, safe_cause, safe_message, safe_repr


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


class Leaving(Exception):
    def __str__(self) -> str:  # noqa: PLE0307  # it never returns
        sys.exit(3)


class Shy:
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
def test_what_an_exception_says_can_be_printed(error: BaseException, expected: str) -> None:
    assert safe_message(error) == expected


def test_long_text_loses_its_middle() -> None:
    message = safe_message(ValueError("a" * 20_000_000 + "the end"))
    assert len(message) < MOST + 100
    assert message.endswith("the end")
    assert "characters left out" in message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("a", 1), "('a', 1)"),
        (Shy(), "<Shy, whose repr() raises KeyboardInterrupt>"),
        (10**100_000, "an int of 332,193 bits"),
        ([10**100_000], "<list, whose repr() raises ValueError>"),
    ],
    ids=["plain", "raising", "huge", "in a list"],
)
def test_any_value_can_be_spelt(value: Any, expected: str) -> None:
    assert safe_repr(value) == expected


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_an_exception_that_can_be_printed_is_its_own_cause() -> None:
    error = raised(ValueError("short"), KeyError("too"))
    assert safe_cause(error) is error


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a" * 20_000_000),
        Leaving(),
        raised(ValueError("short"), KeyError("b" * 20_000_000)),
        ExceptionGroup("many", [ValueError("c" * 1_000_000)] * 10),
        ValueError("\ud800"),
    ],
    ids=["long", "leaving", "chained", "group", "no unicode"],
)
def test_a_traceback_with_any_cause_can_be_written_and_is_short(error: Exception) -> None:
    if isinstance(error, ValueError) and len(str(error)) < 100 and error.__cause__ is None:
        error.add_note("d" * 20_000_000)
    try:
        raise raised(error)
    except BaseException as caught:
        failed = ModuleFailedError("m.odule", "1.0.0", ("k" * 20_000_000,), None, "add_events", caught)
        failed.__cause__ = safe_cause(caught)
    text = "".join(traceback.format_exception(failed))
    assert len(text.encode()) < 20_000
    assert f"{type(error).__name__}" in text
    assert "in raised" in text
    assert "m.odule 1.0.0 failed in add_events" in text


def test_a_chain_without_an_end_is_cut() -> None:
    error: BaseException = ValueError(0)
    for number in range(1, 2000):
        error = raised(ValueError(number), error)
    text = "".join(traceback.format_exception(safe_cause(error)))
    assert "ValueError: 1999" in text
    assert len(text) < 20_000
