"""Operators that follow a stream, progress policies and modules of several inputs that break one law each.

Modules over windows, functions, triggers and kinds of windows that do are in `muntin_hostile`, as a plugin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from muntin import Event, StreamOperator
from muntin.progress import ProgressPolicy, SourceProgress, punctuate_every
from tests.modules.several_inputs import Both, KeptMembers, Left, Members, Right, number_of_input
from tests.modules.stream_operators import Level, Newest, Ticker
from tests.sdk.module_classes import module_class


class Renews(StreamOperator[int, list[int], int]):
    """Asks to be woken at each tick."""

    name, version = "hostile.renews", "1"
    is_periodic = True

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> None:
        state[:] = [time]

    def on_time(self, state: list[int], time: int) -> None:
        state[:] = [time]

    def next_time(self, state: list[int]) -> int:
        return state[0] + 1


class Counts(Renews):
    """Changes its state where it is only asked for its next time."""

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        return [*state]

    def next_time(self, state: list[int]) -> Any:
        state.append(1)


class Forgets(Level):
    """Says of a state with two entries that it is empty, though its rows at ends of events show them."""

    def on_end(self, state: list[int], payload: int, time: int) -> Any:
        return [[*state, time]]

    def is_empty(self, state: list[int]) -> bool:
        return len(state) == 2


class Endless(Ticker):
    """Asks for a wake-up after each wake-up, and does not say that it is periodic."""

    is_periodic = False


class Deaf(Renews):
    """Asks to be woken three ticks after the first event, again after it was."""

    is_periodic = False

    def on_event(self, state: list[int], payload: int, time: int) -> None:
        state.append(time)

    def on_time(self, state: list[int], time: int) -> None:
        state.append(time)

    def next_time(self, state: list[int]) -> int:
        return state[0] + 3


def _newest(**attributes: Any) -> Any:
    """Return a `Newest` operator with other methods."""
    return module_class(Newest, version="1", **attributes)()


HOSTILE_OPERATORS: dict[str, list[StreamOperator[Any, Any, Any]]] = {
    "test_definition_is_complete": [
        _newest(on_timer=lambda self, state, time: None),
        _newest(on_end=lambda self, state, payload, time: None),
    ],
    "test_rows_have_declared_types": [_newest(on_event=lambda self, state, payload, time: [f"{payload}"])],
    "test_no_row_starts_before_its_cause": [
        _newest(on_event=lambda self, state, payload, time: [Event.point(time - 1, payload)])
    ],
    "test_the_state_is_plain_data": [_newest(on_event=lambda self, state, payload, time: state.append(object()))],
    "test_nothing_else_is_remembered": [
        _newest(calls=itertools.count(), on_event=lambda self, state, payload, time: [next(self.calls)])
    ],
    "test_questions_change_nothing": [Counts()],
    "test_an_empty_state_is_as_good_as_a_new_one": [_newest(is_empty=lambda self, state: True), Forgets()],
    "test_events_are_read_only": [
        module_class(
            StreamOperator[list[int], list[int], int],
            create_state=lambda self: [],
            on_event=lambda self, state, payload, time: payload.append(1),
        )()
    ],
    "test_wake_ups_do_not_come_at_each_tick": [Renews()],
    "test_no_time_is_asked_for_again": [Deaf(), _newest(next_time=lambda self, state: 10)],
    "test_wake_ups_come_to_an_end": [Endless()],
}


@dataclass(frozen=True)
class Following(ProgressPolicy):
    """A policy with an empty description."""

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest

    def describe(self, spell: Callable[[int], str]) -> str:
        return ""


class Greedy(Following):
    """Reads the third latest start, before three rows have come."""

    starts_kept = 3

    def watermark(self, seen: SourceProgress) -> int:
        return seen.latest[2]


class Halved(Following):
    """Answers with a fraction."""

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest / 2


class Batched(Following):
    """Answers only where the last micro-batch had more than a row."""

    def watermark(self, seen: SourceProgress) -> int | None:
        return seen.newest if seen.rows - seen.rows_before > 1 else None


class Counting(Following):
    """Answers by how often it was asked."""

    calls = itertools.count()

    def watermark(self, seen: SourceProgress) -> int:
        return seen.newest - 1000 + next(self.calls)


HOSTILE_POLICIES: dict[str, list[ProgressPolicy]] = {
    "test_definition_is_complete": [Following()],
    "test_answers_are_ticks_or_none": [Greedy(), Halved()],
    "test_it_makes_no_difference_where_micro_batches_end": [Batched(), punctuate_every(rows=2)],
    "test_nothing_else_is_remembered": [Counting()],
}


class NeedsBoth(Members):
    """Divides by the number of left payloads."""

    name = "both.needs_both"

    def compute_result(self, payloads: Sequence[Both]) -> list[int]:
        return [len(payloads) // sum(isinstance(payload, Left) for payload in payloads)]


class PairsNeighbours(Members):
    """Matches a left payload with the right one that comes next in the list."""

    name = "both.pairs_neighbours"

    def compute_result(self, payloads: Sequence[Both]) -> list[int]:
        numbers: list[int] = []
        for payload, next_payload in pairwise(payloads):
            if isinstance(payload, Left) and isinstance(next_payload, Right):
                numbers.append(number_of_input(payload))
        return sorted(numbers)


class PairsOfACall(KeptMembers):
    """Matches only payloads that come in one call."""

    name = "both.pairs_of_a_call"

    def add_events(self, state: Any, payloads: Sequence[Both]) -> Any:
        has_both_inputs = len({type(payload) for payload in payloads}) == 2
        return super().add_events(state, payloads if has_both_inputs else [])


class ForgetsTheLastLeft(KeptMembers):
    """Forgets all right payloads when the last left one is removed."""

    name = "both.forgets_the_last_left"

    def remove_events(self, state: Any, payloads: Sequence[Both]) -> Any:
        state = super().remove_events(state, payloads)
        if not state.left:
            state.right.clear()
        return state


HOSTILE_TO_INPUTS: dict[str, list[Any]] = {
    "test_a_silent_input_is_handled": [NeedsBoth()],
    "test_inputs_interleave_in_any_way": [PairsNeighbours(), PairsOfACall()],
    "test_an_input_leaves_no_trace": [ForgetsTheLastLeft()],
}
