"""Laws that make a result a function of a window's members and of nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from muntin.testing.equality import equal
from muntin.testing.laws.error import LawError
from muntin.testing.laws.law import law, reads_order
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial

_COMPARE_RESULTS: Final = (
    "order does not matter",
    "splitting does not matter",
    "incremental equals recomputed",
    "state survives its codec",
)
"""Laws that are broken too by what a module keeps on itself, so that they say nothing of it."""


class PurityLaws(ModuleLaws):
    """Every module is a function of a set, or of a sequence if it reads the order."""

    def first_fault(self, broken: LawError) -> LawError:
        """Return the error of the law on equal results if a module breaks that too, by what it keeps between calls."""
        if broken.law in _COMPARE_RESULTS and not broken.method:
            try:
                self.test_same_payloads_same_result()
            except LawError as first:
                return first
        return broken

    @law(
        "use nothing of their order: sort by a key that has no ties, keep all that tie, or say reads_order = True",
        does_not_apply=reads_order,
    )
    def test_order_does_not_matter(self, trial: ModuleTrial) -> None:
        """Any permutation of the members gives an equal result."""
        members = trial.members()
        moved = trial.order(len(members))
        trial.expect_same(
            ("as listed below", trial.subject.result(members)),
            (f"in the order {moved}", trial.subject.result([members[place] for place in moved])),
        )

    @law("keep nothing between calls on self, the class or a global; draw no random numbers, read no clock")
    def test_same_payloads_same_result(self, trial: ModuleTrial) -> None:
        """The same members give the same result at any time, to the last bit."""
        members, others = trial.members("member"), trial.members("other")
        with self.as_at_first():
            first = trial.subject.copy(trial.subject.result(members))
            again = trial.subject.copy(trial.subject.result(members))
        trial.expect_same(("at first", first), ("again", again), tolerance=0)
        with self.as_at_first():
            trial.subject.result(others)
            trial.expect_same(("at first", first), ("after another window", trial.subject.result(members)), tolerance=0)

    @law("copy what you change: sorted(payloads), not payloads.sort(); dict(payload), not payload.pop()")
    def test_payloads_are_read_only(self, trial: ModuleTrial) -> None:
        """Neither a payload nor the collection they come in is changed."""
        seen = trial.subject.see(trial.members())
        before = deepcopy(seen)
        trial.subject.lives_through(seen)
        trial.expect(equal(seen, before), lambda: f"given: {before!r}\nafterwards: {seen!r}")
