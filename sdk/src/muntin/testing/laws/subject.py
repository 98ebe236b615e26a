"""Driving a module of any of the eight shapes in one way."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import formatannotation
from types import NoneType
from typing import Any, TypeVar, get_args

from muntin.events import Event
from muntin.testing.laws.trial import ANY_PAYLOAD, CallError
from muntin.testing.plain_data import records_in, restored
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Subject:
    """A module under test, in one window. Members are events; a time-insensitive module gets their payloads.

    Attributes:
        module: The module.
        window: The window, which a time-insensitive module does not get.
    """

    module: Any
    window: Window

    def see(self, members: Sequence[Event[object]]) -> list[Any]:
        """Return members as the module gets them, in a list that is nobody else's."""
        return list(members) if self.module.is_time_sensitive else [event.payload for event in members]

    def result(self, members: Sequence[Event[object]]) -> Any:
        """Return the result of a window, computed from all its members at once; rows as a list."""
        if self.module.is_incremental:
            return self.result_of(self.state_of(members))
        return self.compute(self.see(members))

    def compute(self, seen: list[object]) -> Any:
        """Call `compute_result` with these payloads or events."""
        return self._rows(self._call("compute_result", seen))

    def create(self) -> Any:
        """Return a new state."""
        return self._call("create_state")

    def state_of(self, *groups: Sequence[Event[object]]) -> object:
        """Return the state of some members, added group by group."""
        state = self.create()
        for members in groups:
            state = self.add(state, members)
        return state

    def add(self, state: Any, members: Sequence[Event[Any]]) -> Any:
        """Return the state with more members."""
        return self._call("add_events", state, self.see(members)) if members else state

    def remove(self, state: object, members: Sequence[Event[object]]) -> Any:
        """Return the state with fewer members."""
        return self._call("remove_events", state, self.see(members)) if members else state

    def combine(self, state: object, other: object) -> Any:
        """Return the state of the members of both."""
        return self._call("combine", state, other)

    def deduct(self, state: object, other: object) -> Any:
        """Return the state without the members of the other."""
        return self._call("deduct", state, other)

    def upgrade(self, state: object, version: str) -> Any:
        """Return today's state of one of an older version."""
        return self._call("upgrade_state", state, version)

    def plain(self, state: object) -> Any:
        """Return a state of an older version as it comes from a checkpoint."""
        try:
            return restored(state)
        except TypeError as error:
            facts = f"no checkpoint holds such a state of an older version: {error}"
            raise CallError(facts, "give it in old_states as plain data, with dicts for records") from None

    def result_of(self, state: object) -> object:
        """Return the result of a state; rows as a list."""
        return self._rows(self._call("compute_result", state))

    def copy(self, value: object) -> Any:
        """Return a copy of a state or a result that shares nothing with it."""
        try:
            return deepcopy(value)
        except Exception as error:
            raise CallError(f"{value!r} cannot be copied: {type(error).__name__}: {error}") from error

    def stored(self, state: object) -> Any:
        """Return a state as it comes back from a checkpoint."""
        types = self.module._types()
        try:
            return restored(state, records_in(self.module.state_type()) | records_in(types["result"]))
        except TypeError as error:
            raise CallError(f"the state cannot be stored: {error}") from None

    def stored_if_it_can_be(self, state: object) -> object:
        """Return a state as it comes back from a checkpoint; one that none can hold, which a law says, as it is."""
        try:
            return self.stored(state)
        except CallError:
            return state

    def lives_through(self, seen: list[object]) -> None:
        """Call every method that gets payloads or events with these."""
        if not self.module.is_incremental:
            self.compute(seen)
            return
        state = self._call("add_events", self.create(), seen)
        self.result_of(state)
        if hasattr(self.module, "remove_events"):
            self._call("remove_events", state, seen)

    def _call(self, method: str, *arguments: object) -> Any:
        __tracebackhide__ = True
        with_window = (
            (*arguments, self.window)
            if (self.module.is_time_sensitive and method not in ("combine", "deduct"))
            else arguments
        )
        try:
            returned = getattr(self.module, method)(*with_window)
        except Exception as error:
            raise CallError(f"{method} raised {type(error).__name__}: {error}", ANY_PAYLOAD, method) from error
        if returned is None and method != "compute_result" and not _may_be_none(state := self.module.state_type()):
            facts = f"{method} returned None, expected a state: {formatannotation(state)}"
            what = "the new state" if method == "create_state" else "the state"
            raise CallError(facts, f"end {method} with: return ..., {what}", method)
        return returned

    def _rows(self, result: Any) -> object:
        if not self.module.is_operator:
            return result
        __tracebackhide__ = True
        try:
            return list(result)
        except Exception as error:
            facts = f"the rows of compute_result cannot be read: {type(error).__name__}: {error}"
            raise CallError(facts, ANY_PAYLOAD) from error


def _may_be_none(state: object) -> bool:
    """Return True if the module's types allow None as a state."""
    return state in (None, NoneType, Any, object) or isinstance(state, TypeVar) or NoneType in get_args(state)
