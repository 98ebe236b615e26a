"""Modules that read several inputs: which stream of a union each of them is, and which columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from muntin import Module
from muntin.errors import QueryError
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.core.skipping import BySource
from muntin_engine.plan.input_binding import bind_each
from muntin_engine.plan.module_plan import ModulePlan, StreamInput, make_module

SOURCE: Final = Field("source", Scalar(ScalarKind.STRING), is_nullable=True)
"""The source of a row, of which a module that reads several inputs makes out what the row is."""


def sources_of_inputs(
    cls: type[Module], streams: Mapping[str, str], sources: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the sources that each input of a module reads.

    Args:
        cls: The module's class.
        streams: The name of the stream that each input reads, by the name of the input.
        sources: The sources of the events: those of a union are the names of its streams, or begin with these.

    Raises:
        QueryError: There is no such stream, or two inputs read one.
    """
    named = ", ".join(f"{stream}=..." for stream in dict.fromkeys(streams.values()))
    if not sources:
        raise QueryError(
            f"{cls.name} reads {len(streams)} inputs, {', '.join(streams)}, and the events are of one stream\n"
            f"  make one stream of all: union({named}).window(...)"
        )
    found = {name: tuple(one for one in sources if _is_of(one, stream)) for name, stream in streams.items()}
    for name, stream in streams.items():
        if not found[name]:
            there = ", ".join(dict.fromkeys(source.partition(".")[0] for source in sources))
            raise QueryError(
                f"the input {name} of {cls.name} is the stream {stream}, and there is none of this name: {there}\n"
                f"  name it so, union({named}), or say which it is: {name}=from_stream('<stream>', '<column>')"
            )
        twice = [other for other in streams if other != name and set(found[other]) & set(found[name])]
        if twice:
            raise QueryError(
                f"the inputs {name} and {twice[0]} of {cls.name} read one stream, {stream}, and an event is of one\n"
                "  give the union a stream for each of them, of the same DataFrame if need be"
            )
    return found


def _is_of(source: str, stream: str) -> bool:
    return source == stream or source.startswith(f"{stream}.")


def plan_several(
    output: str,
    cls: type[Module],
    parameters: Mapping[str, object],
    sources: Mapping[str, tuple[str, ...]],
    given: Mapping[str, Sequence[Field]],
    source: int,
    place: Callable[[str, int, Field], int],
    read: Callable[[int], int] | None = None,
) -> ModulePlan:
    """Return a module that reads several inputs, bound to columns of the streams of a union.

    Args:
        output: The name of its result column.
        cls: The module's class.
        parameters: Its constructor's parameters.
        sources: The sources of each input, by its name.
        given: The types of the columns of each input.
        source: The place of the column `SOURCE`.
        place: As for `plan_module`, with the name of the input before the number of the column.
        read: As for `plan_module`.

    Raises:
        ParameterError: The parameters do not fit.
        TypeMismatchError: The columns do not fit.
    """
    bound = bind_each(cls, given)
    module = make_module(cls, parameters, read)
    inputs = tuple(
        StreamInput(
            name,
            sources[name],
            tuple(place(name, number, field) for number, field in enumerate(one.reads)),
            one.reads,
        )
        for name, one in bound.items()
    )
    selectors: dict[str, Callable[[tuple[Any, ...]], Any]] = {
        name: bound[part.name].selector(part.columns) for part in inputs for name in part.sources
    }
    first = next(iter(bound.values()))
    return ModulePlan(
        output,
        module,
        dict(parameters),
        (source, *(column for part in inputs for column in part.columns)),
        (SOURCE, *(field for part in inputs for field in part.reads)),
        BySource(source, selectors),
        first.result,
        evicted=first.evicted,
        inputs=inputs,
    )
