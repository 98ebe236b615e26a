"""Modules with two inputs, whose results show the events of each that they were called with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias

from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    Operator,
    StreamOperator,
    Window,
)


@dataclass(frozen=True)
class Left:
    """A number of the left stream."""

    number: int


class Right(NamedTuple):
    """A number of the right stream, and maybe another."""

    number: int
    extra: int | None = None


Both: TypeAlias = Left | Right


def is_of_both(payload: int | None) -> bool:
    """Tell whether a scenario's payload is of the left or of the right stream: every third one is of neither."""
    return payload is not None and payload % 3 < 2


def as_input(payload: int) -> Both:
    """Return a scenario's payload as the record of a module with two inputs."""
    return Right(payload // 3) if payload % 3 else Left(payload // 3)


def number_of_input(payload: Both) -> int:
    """Return a number that also names the input of a payload: even for left ones, odd for right ones."""
    return 2 * payload.number + isinstance(payload, Right)


class Members(Aggregate[Both, list[int]]):
    """The payloads of a window."""

    name, version = "both.members", "1.0.0"

    def compute_result(self, payloads: Sequence[Both]) -> list[int]:
        return sorted(map(number_of_input, payloads))


class TimedMembers(Aggregate[Both, list[int]]):
    """The payloads of a window, by a module that is called with events and does not read their times."""

    name, version = "both.timed_members", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, events: Sequence[Event[Both]], window: Window) -> list[int]:
        return sorted(number_of_input(event.payload) for event in events)


class State(NamedTuple):
    """The payloads of each input."""

    left: list[Left]
    right: list[Right]


class KeptMembers(IncrementalAggregate[Both, State, list[int]]):
    """The payloads of a window, by a module with all optional methods."""

    name, version = "both.kept_members", "1.0.0"

    def create_state(self) -> State:
        return State([], [])

    def add_events(self, state: State, payloads: Sequence[Both]) -> State:
        for payload in payloads:
            if isinstance(payload, Left):
                state.left.append(payload)
            else:
                state.right.append(payload)
        return state

    def remove_events(self, state: State, payloads: Sequence[Both]) -> State:
        for payload in payloads:
            if isinstance(payload, Left):
                state.left.remove(payload)
            else:
                state.right.remove(payload)
        return state

    def combine(self, state: State, other: State) -> State:
        return State(state.left + other.left, state.right + other.right)

    def compute_result(self, state: State) -> list[int]:
        payloads: list[Both] = [*state.left, *state.right]
        return sorted(map(number_of_input, payloads))


class Pairs(Operator[Both, int]):
    """A row for each pair of a left event and a right one: the product of their numbers."""

    name, version = "both.pairs", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, events: Sequence[Event[Both]], window: Window) -> Iterable[int]:
        payloads = [event.payload for event in events]
        left_numbers = [payload.number for payload in payloads if isinstance(payload, Left)]
        right_numbers = [payload.number for payload in payloads if isinstance(payload, Right)]
        return [left * right for left, right in product(left_numbers, right_numbers)]


class Answers(StreamOperator[Both, dict[int, int], int]):
    """The time from a left event to the first right one with its number; each left one is answered once.

    A state has the times of left events that are not answered yet, by their numbers.
    """

    name, version = "both.answers", "1.0.0"

    def create_state(self) -> dict[int, int]:
        return {}

    def on_event(self, state: dict[int, int], payload: Both, time: int) -> Iterable[int]:
        if isinstance(payload, Left):
            state[payload.number] = time
            return []
        if payload.number not in state:
            return []
        return [time - state.pop(payload.number)]

    def is_empty(self, state: dict[int, int]) -> bool:
        return not state
