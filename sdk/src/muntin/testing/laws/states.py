"""The laws of states: made, kept, read back, and upgraded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st

from muntin.events import Event
from muntin.testing.equality import equal
from muntin.testing.laws.law import lacks, law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.subject import Subject
from muntin.windows.extent import Window


class StateLaws(ModuleLaws):
    """A state says all about its members, and is nobody else's."""

    @law("let add_events depend on the state and the new members alone, not on how many come at once")
    def test_splitting_does_not_matter(self, trial: ModuleTrial) -> None:
        """Members added in several calls give the same result as in one."""
        groups = [trial.members(f"call {call}") for call in range(1, 2 + trial.draw(st.integers(1, 3)))]
        together = [member for group in groups for member in group]
        trial.expect_same(
            ("in several calls", trial.subject.result_of(trial.subject.state_of(*groups))),
            ("in one call", trial.subject.result(together)),
        )

    @law("create what you return in create_state: no class attribute, no default argument, no module global")
    def test_each_state_is_its_own(self, trial: ModuleTrial) -> None:
        """Adding members to one state leaves another new state as it was."""
        changed, other = trial.subject.create(), trial.subject.create()
        before = trial.subject.copy(other)
        trial.subject.add(changed, trial.members())
        trial.expect(equal(other, before), lambda: f"another new state: {before!r}\nafterwards: {other!r}")

    @law("return a copy of what the state holds: list(state), not state")
    def test_results_do_not_alias_the_state(self, trial: ModuleTrial) -> None:
        """A result stays as it is when its state changes."""
        members = trial.members("member")
        state = trial.subject.state_of(members)
        result = trial.subject.result_of(state)
        before = trial.subject.copy(result)
        _change(trial.subject, state, members, trial.members("later"))
        trial.expect(equal(result, before), lambda: f"result: {before!r}\nafter its state changed: {result!r}")

    @law("do not change the state in compute_result: sorted(state), not state.sort()")
    def test_compute_result_leaves_the_state_as_it_was(self, trial: ModuleTrial) -> None:
        """Computing a result changes nothing in the state."""
        state = trial.subject.state_of(trial.members())
        before = trial.subject.copy(state)
        trial.subject.result_of(state)
        trial.expect(equal(state, before), lambda: f"state: {before!r}\nafter compute_result: {state!r}")

    @law("build the state from plain data, and do not rely on two parts of it being one object")
    def test_state_survives_its_codec(self, trial: ModuleTrial) -> None:
        """A state that was stored and read back gives the same results, now and with more members."""
        members, later = trial.members("member"), trial.members("later", at_least=0)
        kept = trial.subject.add(trial.subject.state_of(members), later)
        read = trial.subject.add(trial.subject.stored(trial.subject.state_of(members)), later)
        trial.expect_same(
            ("read back", trial.subject.result_of(trial.subject.stored(read))),
            ("never stored", trial.subject.result_of(kept)),
        )

    @law("compare add_events and remove_events with what a new state of the members left would hold")
    def test_incremental_equals_recomputed(self, trial: ModuleTrial) -> None:
        """A state that has been through adding, removing and computing gives what a new state of its members gives."""
        state, present = trial.subject.state_of(members := trial.members("member")), list(members)
        for _ in range(trial.draw(st.integers(1, 3))):
            trial.subject.result_of(state)
            state = _step(trial, state, present)
            if trial.draw(st.booleans()):
                state = trial.subject.stored_if_it_can_be(state)
        trial.expect_same(
            ("updated step by step", trial.subject.result_of(state)),
            ("computed anew", trial.subject.result(present)),
        )


def _change(subject: Subject, state: object, members: list[Event[object]], later: list[Event[object]]) -> None:
    state = subject.add(state, later)
    if hasattr(subject.module, "combine"):
        state = subject.combine(state, subject.state_of(later))
    if hasattr(subject.module, "remove_events"):
        subject.remove(state, members)


def _step(trial: ModuleTrial, state: object, present: list[Event[object]]) -> object:
    """Remove a member if the module can and another is left, the oldest if it reads the order; else add some."""
    can_remove = hasattr(trial.subject.module, "remove_events") and len(present) > 1
    if can_remove and trial.draw(st.booleans()):
        is_oldest = trial.subject.module.reads_order
        gone = present.pop(0 if is_oldest else trial.draw(st.integers(0, len(present) - 1)))
        trial.stream.append(f"then {gone} is removed")
        return trial.subject.remove(state, [gone])
    more = trial.members("then")
    present += more
    return trial.subject.add(state, more)


@dataclass(frozen=True, slots=True)
class OldState:
    """A state that an older version of a module had, for the laws to upgrade.

    Attributes:
        version: That version.
        members: The members that it had seen: payloads, or events as a time-sensitive module gets them.
        state: The state as plain data, with dicts of their fields for dataclasses and named tuples.
        window: The window, for a time-sensitive module.

    Example:
        >>> OldState("1.0.0", [2.0, 3.0], 5.0)
        OldState(version='1.0.0', members=[2.0, 3.0], state=5.0, window=Window(start=0, end=10))
    """

    version: str
    members: Sequence[Any]
    state: Any
    window: Window = Window(0, 10)  # noqa: RUF009  # it is frozen


class UpgradingLaws(ModuleLaws):
    """A query does not notice that a module is a newer version.

    Attributes:
        old_states: States of older versions; the law is skipped where there are none.
    """

    old_states: ClassVar[Sequence[OldState]] = ()

    @law(
        "let upgrade_state return what create_state and add_events of today make of the same members",
        does_not_apply=lacks("upgrade_state"),
    )
    def test_old_states_are_upgraded(self, trial: ModuleTrial) -> None:
        """A state of an older version, upgraded, gives the result of a new state of its members, now and with more."""
        if not self.old_states:
            pytest.skip(f"does not apply: no old_states of {trial.module} are given")
        for old in self.old_states:
            _upgrade(trial, old)


def _upgrade(trial: ModuleTrial, old: OldState) -> None:
    module = trial.subject.module
    if module.is_time_sensitive:
        trial.place(old.window, trial.clip)
    trial.expect(module.continues_from(old.version), lambda: f"it does not continue from its version {old.version}")
    before = [member if module.is_time_sensitive else Event.point(0, member) for member in old.members]
    later = trial.members("later")
    subject = trial.subject
    upgraded = subject.stored(subject.upgrade(subject.plain(old.state), old.version))
    new = subject.state_of(before)
    if before:
        told = f"a state of {old.version}, upgraded"
        trial.expect_same((told, subject.result_of(upgraded)), ("a new state", subject.result_of(new)))
    more = subject.add(upgraded, later)
    trial.expect_same(
        (f"a state of {old.version}, upgraded, then more", subject.result_of(subject.stored(more))),
        ("a new state", subject.result_of(subject.add(new, later))),
    )
