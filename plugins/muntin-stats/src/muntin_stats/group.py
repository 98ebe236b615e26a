"""Aggregates whose states form a group: adding is `+`, and `-` undoes it exactly."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from operator import add, attrgetter, sub
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from muntin import IncrementalAggregate


class Additive(Protocol):
    """A value with an exact `+` and `-`; neither changes an operand."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...


In = TypeVar("In")
State = TypeVar("State", bound=Additive)
Out = TypeVar("Out")


class GroupAggregate(IncrementalAggregate[In, State, Out], Generic[In, State, Out]):
    """An aggregate that is written as two functions: payloads to a state, and a state to the result.

    A subclass defines `lift`; the states of parts add up to the state of the whole, so payloads can be added and
    removed, and states combined and deducted, all with the same exactness.
    """

    @abstractmethod
    def lift(self, payloads: Sequence[In]) -> State:
        """Return the state of payloads; without any, the group's zero."""

    def create_state(self) -> State:
        """Return the group's zero."""
        return self.lift(())

    def add_events(self, state: State, payloads: Sequence[In]) -> State:
        """Return the state with more members."""
        return self.combine(state, self.lift(payloads))

    def remove_events(self, state: State, payloads: Sequence[In]) -> State:
        """Return the state without members that it has."""
        return self.deduct(state, self.lift(payloads))

    def combine(self, state: State, other: State) -> State:
        """Return the state of the members of both states."""
        return state + other

    def deduct(self, state: State, other: State) -> State:
        """Return the state without the members of `other`."""
        return state - other


class Fieldwise:
    """A mixin for dataclasses of two or more numbers, which add and subtract field by field."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        read = _reader(self.__match_args__)
        return type(self)(*map(add, read(self), read(other)))

    def __sub__(self, other: Self) -> Self:
        read = _reader(self.__match_args__)
        return type(self)(*map(sub, read(self), read(other)))


@cache
def _reader(fields: tuple[str, ...]) -> attrgetter[tuple[Any, ...]]:
    """Return the function that reads fields of an instance; made once for a class, as it is called for each window."""
    return attrgetter(*fields)
