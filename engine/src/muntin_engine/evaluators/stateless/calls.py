"""Calls of an operator without state, for many events in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from muntin import Event, StreamOperator, Window
from muntin.errors import ModuleFailedError
from muntin.query_checks import check_cause
from muntin.safe_text import safe_cause
from muntin_engine.core.calls import RUNNING, Call, Locals, describe_calls
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.returned_rows import listing
from muntin_engine.core.skipping import SKIPPED


class Followed(NamedTuple):
    """The rows that an operator returned, by column.

    Attributes:
        causes: The place of the event that each is for.
        starts: The starts of their lifetimes.
        ends: The ends.
        values: The rows.
    """

    causes: list[int]
    starts: list[int]
    ends: list[int]
    values: list[Any]


def follow(
    binding: Binding, times: Sequence[int], payloads: Sequence[tuple[Any, ...]], key_of: Callable[[int], object]
) -> Followed:
    """Call an operator with each of some events.

    Args:
        binding: The operator.
        times: When the events happened.
        payloads: Their payloads.
        key_of: Returns the key of an event by its place, for errors.

    Raises:
        ModuleFailedError: The operator raised an exception.
        ModuleContractError: A row starts before its event.
    """
    module, select, meter = binding.module, binding.select, binding.meter
    assert isinstance(module, StreamOperator), "only such modules follow a stream"
    label, on_event = f"{module.name} {module.version}", listing(module.on_event, binding.plain, module.result_field())

    def locate(place: int) -> tuple[object, Window]:
        return key_of(place), Window(times[place], times[place] + 1)

    RUNNING.many(label, locate)
    causes, values, place, started = list[int](), list[Any](), 0, meter.now()
    try:
        for place, (time, payload) in enumerate(zip(times, payloads, strict=True)):
            if (seen := select(payload)) is not SKIPPED:
                rows = on_event(None, seen, time)
                causes += [place] * len(rows)
                values += rows
    except BaseException as error:  # an exit, too, is the module's failure
        failed = ModuleFailedError(module.name, module.version, *locate(place), "on_event", error)
        raise failed from safe_cause(error)
    meter.since(started)
    starts = [times[cause] for cause in causes]
    ends = [start + 1 for start in starts]
    for number, row in enumerate(values):
        if isinstance(row, Event):
            check_cause(module, row.start, starts[number], key_of(causes[number]))
            starts[number], ends[number], values[number] = row.start, row.end, row.payload
    return Followed(causes, starts, ends, values)


def _described(local: Locals) -> Call:
    binding, place = local["binding"], local.get("place", 0)
    window = Window(local["times"][place], local["times"][place] + 1)
    label = f"{binding.module.name} {binding.module.version}"
    return Call(label, "on_event", local["key_of"](place), window, place, binding.meter)


describe_calls(follow, _described)
