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
    """Decorate a call of the API so that the stream that it returns has the call as the last of its steps.

    The steps before it are those of the stream that the call is made on. A function such as `events` begins a stream.
    """
    name = getattr(call, "__name__")  # noqa: B009  # the type of a callable has no name
    signature = inspect.signature(call)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    SIGNATURES[name] = signature.replace(
        parameters=parameters
    )  # by these signatures queries are written and read as text

    @wraps(call)
    def recorded_call(*args: P.args, **kwargs: P.kwargs) -> T:
        new_stream: Any = call(*args, **kwargs)
        arguments = signature.bind(*args, **kwargs).arguments
        stream = arguments.pop("self", None)  # None for a function, which begins a stream
        earlier_steps = () if stream is None else stream.steps
        call_step = Step(name, arguments, _frames_of(stream, arguments))
        # A stream is immutable: return a copy that knows its steps.
        return cast("T", replace(new_stream, steps=(*earlier_steps, call_step)))

    return recorded_call


def _frames_of(stream: Any, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the DataFrames whose columns the arguments of a call may name: of its streams, and among its arguments.

    Args:
        stream: The stream that the call is made on; None for a function.
        arguments: The arguments of the call, streams among them.
    """
    frames = []
    for value in (stream, *arguments.values()):
        if is_dataclass(value):
            events = getattr(value, "events", value)  # the event stream of a windowed stream, or the stream itself
            frames.append(getattr(events, "df", None))
    frames.append(arguments.get("df"))  # a DataFrame itself, as `events` and `with_heartbeat` take it
    return tuple(frame for frame in frames if frame is not None)


def main_parameter(call: str) -> str | None:
    """Return the main parameter of a call: in the text of a query, its argument stands under the name of the call.

    For example, `{"shift": "1 hour"}` has the argument of the parameter `by` of `shift`. The main parameter is the
    first one that takes an argument by its place. Where there is none, it is the one that takes arguments of any names,
    as `**modules` of `aggregate` does. None if the call has neither.
    """
    parameter_of_any_names = None
    for parameter in SIGNATURES[call].parameters.values():
        if parameter.name == "unnamed":  # `aggregate` has this parameter only to refuse arguments by place
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            parameter_of_any_names = parameter.name
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            return parameter.name
    return parameter_of_any_names


def is_left_out(main: Parameter) -> bool:
    """Return True if the main argument of a call may be left out, so that the text may have null in its place.

    Args:
        main: The parameter of that argument, as `main_parameter` names it.
    """
    return main.default is None or main.kind in (main.VAR_POSITIONAL, main.VAR_KEYWORD)
