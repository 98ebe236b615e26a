"""The calls that made a query, kept with what they return, so that the query can be written as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from inspect import Parameter
from typing import Any, Final, TypeVar, cast

from typing_extensions import ParamSpec

P = ParamSpec("P")
T = TypeVar("T")

SIGNATURES: Final[dict[str, inspect.Signature]] = {}
"""The signatures of the calls that a query is made of, by their names, without `self`."""


@dataclass(frozen=True)
class Step:
    """A call that a query is made of.

    Attributes:
        call: The name of the function or method.
        arguments: Its arguments, by the names of the parameters.
        frames: The DataFrames whose columns the arguments may name.
    """

    call: str
    arguments: Mapping[str, Any]
    frames: tuple[Any, ...] = ()


def step(call: Callable[P, T]) -> Callable[P, T]:
    """Record a call as a step of the stream that it returns, after the steps of the stream that it is called on."""
    name = getattr(call, "__name__")  # noqa: B009  # a callable need not have one
    signature = inspect.signature(call)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    SIGNATURES[name] = signature.replace(parameters=parameters)

    @wraps(call)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        result = call(*args, **kwargs)
        arguments = signature.bind(*args, **kwargs).arguments
        stream = arguments.pop("self", None)
        steps = () if stream is None else stream.steps
        call_step = Step(name, arguments, _frames_of(stream, arguments))
        # each returns a dataclass with steps
        return cast("T", replace(cast("Any", result), steps=(*steps, call_step)))

    return remembered


def _frames_of(stream: Any, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the DataFrames of the stream that a call is made on, of streams among its arguments, and its own."""
    frames = []
    for value in (stream, *arguments.values()):
        if is_dataclass(value):
            events = getattr(value, "events", value)  # of windows, or the events themselves
            frames.append(getattr(events, "df", None))
    frames.append(arguments.get("df"))
    return tuple(frame for frame in frames if frame is not None)


def main_parameter(call: str) -> str | None:
    """Return the parameter whose argument stands under the name of a call.

    It is the first that may go by place; where all go by name, those of any names; None if there is neither.
    """
    names_of_any = None
    for parameter in SIGNATURES[call].parameters.values():
        if parameter.name == "unnamed":  # which is none
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            names_of_any = parameter.name
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            return parameter.name
    return names_of_any


def is_left_out(main: Parameter) -> bool:
    """Return True if null may stand under the name of a call: it has no first argument."""
    return main.default is None or main.kind in (main.VAR_POSITIONAL, main.VAR_KEYWORD)
