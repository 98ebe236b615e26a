"""Faults, each put in front of an honest module of any shape; `breaks` names the law that the module then breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from muntin import INFINITY, Event, OutputContract

from .columnar import HonestColumnarAggregate
from .honest import bare


class OfTheAbsolute(HonestColumnarAggregate):
    """Lists the absolute values of payloads, which is right as long as none is negative."""

    name = "hostile.absolute"

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return super().lift(abs(payloads))


class Fault:
    """A way to be wrong. It comes before an honest module among the bases of a class.

    Members are payloads or events; a method of a time-sensitive module has the window as its last argument. The first
    argument of `compute_result` is the state where a module is incremental.
    """

    breaks: ClassVar[str]
    is_operator: ClassVar[bool]
    is_incremental: ClassVar[bool]

    def honest(self, method: str, *arguments: Any) -> Any:
        """Call a method of the honest module."""
        return getattr(super(), method)(*arguments)

    def as_result(self, payloads: list[int]) -> Any:
        """Return payloads as a module of this shape returns them: an operator in a list of rows."""
        return [payloads] if self.is_operator else payloads


class HasNoVersion(Fault):
    breaks = "test_definition_is_complete"
    version = ""


class ReturnsText(Fault):
    breaks = "test_result_has_declared_type"

    def compute_result(self, members: Any, *window: Any) -> Any:
        return ["text"] if self.is_operator else "text"


class ReturnsTheFirst(Fault):
    breaks = "test_order_does_not_matter"

    def compute_result(self, members: Any, *window: Any) -> Any:
        return self.as_result(bare(members)[:1])


class CountsItsCalls(Fault):
    breaks = "test_same_payloads_same_result"
    calls = 0

    def compute_result(self, members: Any, *window: Any) -> Any:
        self.calls += 1
        return self.as_result([self.calls])


class ReversesWhatItReads(Fault):
    """Harmless to the result, which is sorted; but the list belongs to the engine."""

    breaks = "test_payloads_are_read_only"

    def compute_result(self, members: Any, *window: Any) -> Any:
        if not self.is_incremental:
            members.reverse()
        return self.honest("compute_result", members, *window)

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        members.reverse()
        return self.honest("add_events", state, members, *window)


class CountsAdditions(Fault):
    breaks = "test_splitting_does_not_matter"

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        return [*self.honest("add_events", state, members, *window), 1]


class SharesItsState(Fault):
    breaks = "test_each_state_is_its_own"
    shared: ClassVar[list[int]] = []

    def create_state(self, *window: Any) -> Any:
        return self.shared

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        state.extend(bare(members))
        return state


class ReturnsItsState(Fault):
    breaks = "test_results_do_not_alias_the_state"

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        state.extend(bare(members))
        state.sort()
        return state

    def compute_result(self, state: Any, *window: Any) -> Any:
        return self.as_result(state)


class ReversesItsState(Fault):
    """Harmless to the result, which is sorted; but an engine need not store a state that was only read."""

    breaks = "test_compute_result_leaves_the_state_as_it_was"

    def compute_result(self, state: Any, *window: Any) -> Any:
        state.reverse()
        return self.honest("compute_result", state, *window)


class Opaque(list[int]):
    """A list to Python, an unknown class to a checkpoint."""


class KeepsAnOpaqueState(Fault):
    breaks = "test_state_survives_its_codec"

    def create_state(self, *window: Any) -> Any:
        return Opaque()

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        return Opaque(self.honest("add_events", state, members, *window))


class RemovesOneMore(Fault):
    breaks = "test_incremental_equals_recomputed"

    def remove_events(self, state: Any, members: Any, *window: Any) -> Any:
        return self.honest("remove_events", state, members, *window)[1:]


class NeverRemoves(Fault):
    breaks = "test_removing_undoes_adding"

    def remove_events(self, state: Any, members: Any, *window: Any) -> Any:
        return state


class CombinesOneSide(Fault):
    breaks = "test_combining_equals_adding"

    def combine(self, state: Any, other: Any) -> Any:
        return state


class MarksTheSeam(Fault):
    breaks = "test_combine_is_associative"

    def combine(self, state: Any, other: Any) -> Any:
        return [*state, *other, len(state)]


class PrefersTheFirst(Fault):
    breaks = "test_combine_is_commutative"

    def combine(self, state: Any, other: Any) -> Any:
        return [*state, *other, *state[:1]]


class CountsCombinations(Fault):
    breaks = "test_combine_has_an_identity"

    def combine(self, state: Any, other: Any) -> Any:
        return [*state, *other, 1]


class NeverDeducts(Fault):
    breaks = "test_deducting_undoes_combining"

    def deduct(self, state: Any, other: Any) -> Any:
        return state


class TakesTheOtherOver(Fault):
    breaks = "test_second_state_is_read_only"

    def combine(self, state: Any, other: Any) -> Any:
        other.extend(state)
        return other


class HasAnotherForm(Fault):
    breaks = "test_columnar_form_gives_the_same_result"

    def columnar_form(self, reads: Any) -> Any:
        return OfTheAbsolute()


class NeedsEnds(Fault):
    """Accepts every clip, and works only on events that have ended."""

    breaks = "test_accepted_clips_work"

    def compute_result(self, members: Any, *window: Any) -> Any:
        if not self.is_incremental:
            _refuse_open_events(members)
        return self.honest("compute_result", members, *window)

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        _refuse_open_events(members)
        return self.honest("add_events", state, members, *window)


class ReadsTimesInSecret(Fault):
    """Says that it reads no times of events, and adds their starts to the payloads."""

    breaks = "test_unread_times_do_not_matter"
    reads_times = False

    def compute_result(self, members: Any, *window: Any) -> Any:
        if not self.is_incremental:
            members = _with_starts_added(members)
        return self.honest("compute_result", members, *window)

    def add_events(self, state: Any, members: Any, *window: Any) -> Any:
        return self.honest("add_events", state, _with_starts_added(members), *window)


class StartsTooEarly(Fault):
    breaks = "test_outputs_obey_the_contract"

    def compute_result(self, members: Any, window: Any) -> Any:
        return [Event(window.start - 1, window.end, bare(members))]


class ChangesThePast(Fault):
    """Promises to be time-bound, but the row of the whole window changes with every member."""

    breaks = "test_outputs_obey_the_contract"
    contract = OutputContract.TIME_BOUND


def _with_starts_added(events: Any) -> Any:
    return [Event(event.start, event.end, event.payload + event.start) for event in events]


def _refuse_open_events(events: Any) -> None:
    if any(event.end == INFINITY for event in events):
        raise ValueError("an event has no end")
