"""The laws of states: creating, updating, storing, combining and upgrading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final

import pytest
from hypothesis import strategies as st

from muntin.events import Event
from muntin.testing.laws.conformance import law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.trial import lacks, reads_order
from muntin.windows.extent import Window


class StateLaws(ModuleLaws):
    """A state depends on its members alone, and shares nothing with other states or results."""

    @law("let add_events depend on the state and the new members alone, not on how many come at once")
    def test_splitting_does_not_matter(self, trial: ModuleTrial) -> None:
        """Members added in several calls give the same result as in one.

        The cut of a stream into micro-batches is random.
        """
        call_count = 1 + trial.draw(st.integers(1, 3))
        groups = [trial.members(f"call {number}") for number in range(1, call_count + 1)]
        together = list(chain.from_iterable(groups))
        trial.expect_same(
            ("in several calls", trial.subject.result_of(trial.subject.state_of(*groups))),
            ("in one call", trial.subject.result(together)),
        )

    @law("create what you return in create_state: no class attribute, no default argument, no module global")
    def test_each_state_is_its_own(self, trial: ModuleTrial) -> None:
        """Adding members to one state leaves another new state as it was.

        `create_state` creates what it returns; a class attribute or a default argument is shared.
        """
        subject = trial.subject
        state = subject.create()
        another_state = subject.create()
        with trial.unchanged("another new state", "afterwards", another_state, copy=subject.copy):
            subject.add(state, trial.members())

    @law("return a copy of what the state holds: list(state), not state")
    def test_results_do_not_alias_the_state(self, trial: ModuleTrial) -> None:
        """A result stays as it is when its state changes.

        Return `list(state)`, not `state`.
        """
        subject = trial.subject
        members = trial.members("member")
        state = subject.state_of(members)
        result = subject.result_of(state)
        later = trial.members("later")
        with trial.unchanged("result", "after its state changed", result, copy=subject.copy):
            state = subject.add(state, later)
            if hasattr(trial.tested, "combine"):
                state = subject.combine(state, subject.state_of(later))
            if hasattr(trial.tested, "remove_events"):
                subject.remove(state, members)

    @law("do not change the state in compute_result: sorted(state), not state.sort()")
    def test_compute_result_leaves_the_state_as_it_was(self, trial: ModuleTrial) -> None:
        """Computing a result changes nothing in the state.

        The engine goes on with the state.
        """
        state = trial.subject.state_of(trial.members())
        with trial.unchanged("state", "after compute_result", state, copy=trial.subject.copy):
            trial.subject.result_of(state)

    @law("build the state from plain data, and do not rely on two parts of it being one object")
    def test_state_survives_its_codec(self, trial: ModuleTrial) -> None:
        """A state that was stored and read back gives the same results, now and with more members.

        A state is plain data: None, numbers, text, bytes, dates and times, and lists, tuples, sets, dicts and
        dataclasses of these.
        """
        subject = trial.subject
        members = trial.members("member")
        later = trial.members("later", at_least=0)
        state = subject.add(subject.state_of(members), later)
        restored_state = subject.add(subject.stored(subject.state_of(members)), later)
        trial.expect_same(
            ("read back", subject.result_of(subject.stored(restored_state))),
            ("never stored", subject.result_of(state)),
        )

    @law("compare add_events and remove_events with what a new state of the members left would hold")
    def test_incremental_equals_recomputed(self, trial: ModuleTrial) -> None:
        """A state that has been through adding, removing and computing gives what a new state of its members gives.

        The engine may drop a state and rebuild it from the events at any time.
        """
        subject = trial.subject
        members = trial.members("member")
        state = subject.state_of(members)
        for _ in range(trial.draw(st.integers(1, 3))):
            subject.result_of(state)
            if hasattr(trial.tested, "remove_events") and len(members) > 1 and trial.draw(st.booleans()):
                # Where the order is read, the engine removes the oldest member.
                place = 0 if trial.tested.reads_order else trial.draw(st.integers(0, len(members) - 1))
                removed = members.pop(place)
                trial.stream.append(f"then {removed} is removed")  # the report of a broken law shows the stream
                state = subject.remove(state, [removed])
            else:
                added = trial.members("then")
                members += added
                state = subject.add(state, added)
            if trial.draw(st.booleans()):
                state = subject.stored_if_it_can_be(state)

        step_by_step = ("updated step by step", subject.result_of(state))
        trial.expect_same(step_by_step, ("computed anew", subject.result(members)))


@dataclass(frozen=True, slots=True)
class OldState:
    """A state that an older version of a module had, for the laws to upgrade.

    Attributes:
        version: The older version.
        members: The members of the state: payloads, or events as a time-sensitive module gets them.
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
        """A state of an older version, upgraded, gives the result of a new state of its members, now and with more.

        It is tried on the `old_states` that a laws class gives, each an `OldState`, and skipped where there are
        none.
        """
        if not self.old_states:
            pytest.skip(f"does not apply: no old_states of {trial.module} are given")
        for old in self.old_states:
            # As a query does: the version is one to continue from, and the state comes from a checkpoint.
            is_timed = trial.tested.is_time_sensitive
            if is_timed:
                trial.move_to(old.window, trial.clip)
            is_known = trial.tested.continues_from(old.version)
            trial.expect(is_known, f"it does not continue from its version {old.version}")
            # A module that sees no times has bare payloads as its old members. A trial takes events, of which it gives
            # such a module the payloads alone: so any times will do.
            members = list(old.members) if is_timed else [Event.point(0, payload) for payload in old.members]
            later = trial.members("later")

            # The upgraded state and a new one have the same members, so they have the same results, now and later.
            subject = trial.subject
            old_state = subject.old_state_restored(old.state)
            upgraded = subject.stored(subject.upgrade(old_state, old.version))
            new = subject.state_of(members)
            description = f"a state of {old.version}, upgraded"
            if members:  # a module is not asked for the result of no members
                trial.expect_same((description, subject.result_of(upgraded)), ("a new state", subject.result_of(new)))
            upgraded_later = subject.result_of(subject.stored(subject.add(upgraded, later)))
            new_later = subject.result_of(subject.add(new, later))
            trial.expect_same((f"{description}, then more", upgraded_later), ("a new state", new_later))


class RemovingLaws(ModuleLaws):
    """Removing is the inverse of adding."""

    @law(
        "undo in remove_events all that add_events does, down to no members; where that cannot be, leave it out",
        does_not_apply=lacks("remove_events"),
    )
    def test_removing_undoes_adding(self, trial: ModuleTrial) -> None:
        """Members that were added and removed again leave no trace; where the order is read, the oldest are removed.

        If that is impossible, as for a maximum, leave `remove_events` out; the engine then rebuilds the state.
        """
        subject = trial.subject
        # Groups that are drawn later come later: where the order is read, the oldest members are removed.
        labels = ["removed", "kept"] if subject.module.reads_order else ["kept", "removed"]
        groups = {label: trial.members(label) for label in labels}
        remaining = groups["kept"]
        removed = groups["removed"]
        is_empty_between = trial.draw(st.booleans())
        if is_empty_between:
            description = "removed before the others came"
            state = subject.add(subject.remove(subject.state_of(removed), removed), remaining)
        else:
            description = "removed at last"
            state = subject.remove(subject.state_of(*groups.values()), removed)
        trial.expect_same((description, subject.result_of(state)), ("never added", subject.result(remaining)))


_NEEDS_COMBINE: Final = lacks("combine")
_OR_LEAVE_OUT: Final = "; where that cannot be, leave combine out"


class CombiningLaws(ModuleLaws):
    """States form a monoid under `combine`, commutative unless the order is read; `deduct` is its inverse."""

    @law("merge every part of the two states" + _OR_LEAVE_OUT, does_not_apply=_NEEDS_COMBINE)
    def test_combining_equals_adding(self, trial: ModuleTrial) -> None:
        """Two states combined give the result of one state with the members of both."""
        subject = trial.subject
        first = trial.members("first")
        second = trial.members("second")
        combined = subject.combine(subject.state_of(first), subject.state_of(second))
        trial.expect_same(("combined", subject.result_of(combined)), ("added", subject.result([*first, *second])))

    @law("let combine depend on what the states hold, not on how they came about", does_not_apply=_NEEDS_COMBINE)
    def test_combine_is_associative(self, trial: ModuleTrial) -> None:
        """It does not matter which two of three states are combined first."""
        subject = trial.subject
        groups = [trial.members(label) for label in ("first", "second", "third")]
        a, b, c = (subject.state_of(group) for group in groups)
        # Combining may change its first state, so each side has states of its own.
        left = subject.combine(subject.combine(a, b), c)
        a, b, c = (subject.state_of(group) for group in groups)
        right = subject.combine(a, subject.combine(b, c))
        trial.expect_same(("(1+2)+3", subject.result_of(left)), ("1+(2+3)", subject.result_of(right)))

    @law(
        "treat both states alike" + _OR_LEAVE_OUT,
        does_not_apply=lambda module: _NEEDS_COMBINE(module) or reads_order(module),
    )
    def test_combine_is_commutative(self, trial: ModuleTrial) -> None:
        """It does not matter which of two states comes first."""
        subject = trial.subject
        first = trial.members("first")
        second = trial.members("second")
        combined = subject.combine(subject.state_of(first), subject.state_of(second))
        swapped = subject.combine(subject.state_of(second), subject.state_of(first))
        trial.expect_same(("1+2", subject.result_of(combined)), ("2+1", subject.result_of(swapped)))

    @law("let create_state return what changes nothing when combined, on either side", does_not_apply=_NEEDS_COMBINE)
    def test_combine_has_an_identity(self, trial: ModuleTrial) -> None:
        """Combining with a new state, on either side, changes nothing."""
        subject = trial.subject
        members = trial.members()
        alone = ("alone", subject.result(members))
        behind = subject.combine(subject.state_of(members), subject.create())
        trial.expect_same(("with a new state behind", subject.result_of(behind)), alone)
        in_front = subject.combine(subject.create(), subject.state_of(members))
        trial.expect_same(("with a new state before", subject.result_of(in_front)), alone)

    @law(
        "undo in deduct all that combine does; where that cannot be, leave deduct out",
        does_not_apply=lacks("combine", "deduct"),
    )
    def test_deducting_undoes_combining(self, trial: ModuleTrial) -> None:
        """A state that was combined and deducted again leaves no trace, even where nothing else is left."""
        subject = trial.subject
        remaining = trial.members("kept", at_least=0)
        deducted = trial.members("deducted")
        later = trial.members("later")
        combined = subject.combine(subject.state_of(remaining), subject.state_of(deducted))
        state = subject.deduct(combined, subject.state_of(deducted))
        if remaining:  # a module is not asked for the result of no members
            trial.expect_same(("deducted", subject.result_of(state)), ("never combined", subject.result(remaining)))
        state = subject.add(state, later)
        expected = subject.result([*remaining, *later])
        trial.expect_same(("deducted, then more", subject.result_of(state)), ("anew", expected))

    @law("copy what you take over from the second state", does_not_apply=_NEEDS_COMBINE)
    def test_second_state_is_read_only(self, trial: ModuleTrial) -> None:
        """Neither combining or deducting nor adding to their result changes the second state.

        Copy the parts that you take from it.
        """
        subject = trial.subject
        first = trial.members("first", at_least=0)
        second = trial.members("second")
        later = trial.members("later")
        second_state = subject.state_of(second)
        with trial.unchanged("second state", "after combine", second_state, copy=subject.copy):
            combined = subject.add(subject.combine(subject.state_of(first), second_state), later)
        if hasattr(trial.tested, "deduct"):
            with trial.unchanged("second state", "after deduct", second_state, copy=subject.copy):
                subject.add(subject.deduct(combined, second_state), later)
