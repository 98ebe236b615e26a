"""Errors know the parts of their messages, and survive pickling and copying."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from muntin import tumbling
from muntin.errors import (
    DuplicateNameError,
    DurationError,
    MalformedPackageError,
    ModuleFailedError,
    MuntinError,
    ParameterError,
    PluginLoadError,
    PolicyError,
    QueryError,
    StreamError,
    UnknownModuleError,
    message_of,
)
from muntin.errors.messages import Argument, Call, Code, ErrorMessage
from muntin.windows.extent import Window
from muntin.windows.specification import WrittenWindows


def in_capitals(code: Code) -> str:
    """Spell code, as a part of a message, in another way than the message does."""
    return str(code).upper()


def test_an_error_names_the_wrong_argument_and_its_value() -> None:
    error = PolicyError("{argument} is not for {windows}", argument="clip", value="none", windows="sessions")
    assert str(error) == "clip='none' is not for sessions"
    assert (error.argument, error.value) == ("clip", "none")


def test_an_argument_without_a_value_is_spelled_with_dots() -> None:
    assert str(QueryError("{argument} is missing", argument="key")) == "key=... is missing"


def test_the_value_of_an_argument_may_be_none() -> None:
    error = QueryError("{argument} says nothing", argument="unit", value=None)
    assert str(error) == "unit=None says nothing"
    assert error.value is None


def test_a_message_without_parts_may_have_braces() -> None:
    error = QueryError("{'muntin': 1} is no query")
    assert str(error) == "{'muntin': 1} is no query"
    assert (error.argument, error.value) == (None, None)


def test_braces_in_a_part_are_text() -> None:
    assert str(QueryError("{value!r} is no name", value="{a}")) == "'{a}' is no name"


def test_the_code_in_a_message_may_be_spelled_in_another_way_also_in_a_message_within_it() -> None:
    need = ErrorMessage("needs {windows}", windows=WrittenWindows(tumbling(5)))
    error = PolicyError("{module} {need}, got {argument}", module="m", need=need, argument="at", value="t")
    assert str(error) == "m needs tumbling(5), got at='t'"
    assert error.message.spelled(in_capitals) == "m needs TUMBLING(5), got AT='T'"


def test_joined_messages_have_the_parts_of_each() -> None:
    left = ErrorMessage("{clip}", clip=Argument("clip", "left"))
    right = ErrorMessage("{clip}", clip=Argument("clip", "right"))
    joined = ErrorMessage.joined(" or ", [left, right])
    assert joined == "clip='left' or clip='right'"
    assert joined.spelled(in_capitals) == "CLIP='LEFT' or CLIP='RIGHT'"


def test_message_of_gives_the_message_of_any_exception_with_its_parts_if_it_has_some() -> None:
    message = ErrorMessage("write {call}", call=Call("early", ...))
    assert message_of(TypeError(message)) is message
    error = QueryError("{call}", call=Call("early"))
    assert message_of(error) is error.message
    assert message_of(ValueError("no parts")) == "no parts"


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],
    ids=["copy", "deep copy", "pickle"],
)
@pytest.mark.parametrize(
    "error",
    [
        PolicyError("{argument} is {what}", argument="clip", value="none", what=Call("events", Argument("at", "t"))),
        DurationError("10 fortnights", "the unit is unknown"),
        ParameterError("m", {"p": 1}, "it takes none", "()"),
        UnknownModuleError("module", "stats.averge", "stats.average", ["stats.average"]),
        ModuleFailedError("m", "1.0.0", "north", Window(0, 10), "compute_result", ValueError("no")),
        PluginLoadError("p", "muntin-p 1.0", "it is broken"),
        MalformedPackageError("p", "it is cut off"),
        DuplicateNameError("p", "a", "b"),
        StreamError("an event ends before it starts", start=5, end=4),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copied_or_pickled_error_has_the_message_and_attributes_of_the_error(
    error: MuntinError, duplicate: Callable[[MuntinError], MuntinError]
) -> None:
    copied = duplicate(error)
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert copied.__dict__.keys() == error.__dict__.keys()
    assert copied.argument == error.argument
    assert copied.value == error.value
    assert copied.message.spelled(in_capitals) == error.message.spelled(in_capitals)
