"""The calls that made a query, kept with what they return, so that the query can be written as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
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
        arguments: What it was given, by the names of its parameters.
        frames: The DataFrames whose columns the arguments may name.
    """

    call: str
    arguments: Mapping[str, Any]
    frames: tuple[Any, ...] = ()


def step(call: Callable[P, T]) -> Callable[P, T]:
    """Have what a call returns remember the call, after those that made what it was called on."""
    name, signature = getattr(call, "__name__"), inspect.signature(call)  # noqa: B009  # a callable need not have one
    SIGNATURES[name] = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "self"])

    @wraps(call)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> T:
        made = call(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        before = given.pop("self", None)
        around = [getattr(one, "events", one) for one in (before, *given.values()) if is_dataclass(one)]
        frames = tuple(found for one in (*around, given) if (found := _frame_of(one)) is not None)
        steps = () if before is None else before.steps
        # each returns a dataclass with steps
        return cast("T", replace(cast("Any", made), steps=(*steps, Step(name, given, frames))))

    return remembered


def _frame_of(thing: Any) -> Any:
    """Return the DataFrame of a stream, or among arguments; None if there is none."""
    return thing.get("df") if isinstance(thing, Mapping) else getattr(thing, "df", None)
