"""The laws of states from which events are removed, and of states that are merged."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from muntin.testing.equality import equal
from muntin.testing.laws.law import lacks, law, reads_order
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial


class RemovingLaws(ModuleLaws):
    """Removing is the inverse of adding."""

    @law(
        "undo in remove_events all that add_events does, down to no members; where that cannot be, leave it out",
        does_not_apply=lacks("remove_events"),
    )
    def test_removing_undoes_adding(self, trial: ModuleTrial) -> None:
        """Members that were added and removed again leave no trace; where the order is read, the oldest are removed."""
        subject, order = trial.subject, ("kept", "removed")
        groups = {label: trial.members(label) for label in (order[::-1] if subject.module.reads_order else order)}
        kept, gone = groups["kept"], groups["removed"]
        is_empty_between = trial.draw(st.booleans())
        if is_empty_between:
            state = subject.add(subject.remove(subject.state_of(gone), gone), kept)
        else:
            state = subject.remove(subject.state_of(*groups.values()), gone)
        when = "removed before the others came" if is_empty_between else "removed at last"
        trial.expect_same((when, subject.result_of(state)), ("never added", subject.result(kept)))


_NEEDS_COMBINE: Final = lacks("combine")
_OR_LEAVE_OUT: Final = "; where that cannot be, leave combine out"


class CombiningLaws(ModuleLaws):
    """States form a monoid under `combine`, commutative unless the order is read; `deduct` is its inverse."""

    @law("merge every part of the two states" + _OR_LEAVE_OUT, does_not_apply=_NEEDS_COMBINE)
    def test_combining_equals_adding(self, trial: ModuleTrial) -> None:
        """Two states combined give the result of one state with the members of both."""
        subject = trial.subject
        first, second = trial.members("first"), trial.members("second")
        combined = subject.combine(subject.state_of(first), subject.state_of(second))
        trial.expect_same(("combined", subject.result_of(combined)), ("added", subject.result([*first, *second])))

    @law("let combine depend on what the states hold, not on how they came about", does_not_apply=_NEEDS_COMBINE)
    def test_combine_is_associative(self, trial: ModuleTrial) -> None:
        """It does not matter which two of three states are combined first."""
        subject = trial.subject
        groups = [trial.members(label) for label in ("first", "second", "third")]
        a, b, c = (subject.state_of(group) for group in groups)
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
        first, second = trial.members("first"), trial.members("second")
        one = subject.combine(subject.state_of(first), subject.state_of(second))
        other = subject.combine(subject.state_of(second), subject.state_of(first))
        trial.expect_same(("1+2", subject.result_of(one)), ("2+1", subject.result_of(other)))

    @law("let create_state return what changes nothing when combined, on either side", does_not_apply=_NEEDS_COMBINE)
    def test_combine_has_an_identity(self, trial: ModuleTrial) -> None:
        """Combining with a new state, on either side, changes nothing."""
        subject, members = trial.subject, trial.members()
        alone = ("alone", subject.result(members))
        behind = subject.combine(subject.state_of(members), subject.create())
        trial.expect_same(("with a new state behind", subject.result_of(behind)), alone)
        before = subject.combine(subject.create(), subject.state_of(members))
        trial.expect_same(("with a new state before", subject.result_of(before)), alone)

    @law(
        "undo in deduct all that combine does; where that cannot be, leave deduct out",
        does_not_apply=lacks("combine", "deduct"),
    )
    def test_deducting_undoes_combining(self, trial: ModuleTrial) -> None:
        """A state that was combined and deducted again leaves no trace, even where nothing else is left."""
        subject = trial.subject
        kept, gone, later = trial.members("kept", at_least=0), trial.members("deducted"), trial.members("later")
        other = subject.state_of(gone)
        state = subject.deduct(subject.combine(subject.state_of(kept), other), subject.state_of(gone))
        if kept:
            trial.expect_same(("deducted", subject.result_of(state)), ("never combined", subject.result(kept)))
        state = subject.add(state, later)
        trial.expect_same(("deducted, then more", subject.result_of(state)), ("anew", subject.result([*kept, *later])))

    @law("copy what you take over from the second state", does_not_apply=_NEEDS_COMBINE)
    def test_second_state_is_read_only(self, trial: ModuleTrial) -> None:
        """Neither combining or deducting nor adding to their result changes the second state."""
        subject = trial.subject
        first, second, later = trial.members("first", at_least=0), trial.members("second"), trial.members("later")
        other = subject.state_of(second)
        before = subject.copy(other)
        combined = subject.add(subject.combine(subject.state_of(first), other), later)
        _expect_kept(trial, "combine", before, other)
        if hasattr(subject.module, "deduct"):
            subject.add(subject.deduct(combined, other), later)
            _expect_kept(trial, "deduct", before, other)


def _expect_kept(trial: ModuleTrial, method: str, before: object, other: object) -> None:
    trial.expect(equal(other, before), lambda: f"second state: {before!r}\nafter {method}: {other!r}")
