"""The law of modules that can take members out of a state."""

from __future__ import annotations

from hypothesis import strategies as st

from muntin.testing.laws.law import lacks, law
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
