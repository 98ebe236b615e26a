"""Laws of the ways in which values of components become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hypothesis import strategies as st

from muntin.columnar.merging import identities, inverter
from muntin.components import Component, Merge
from muntin.schemas import Scalar, ScalarKind
from muntin.testing.equality import equal
from muntin.testing.laws.array_laws import ArrayLaws, calling
from muntin.testing.laws.law import Reason, law, named
from muntin.testing.laws.module_trial import ModuleTrial


def _has_own(component: Component) -> bool:
    return component.merge is Merge.CUSTOM


def _is_merged(component: Component) -> bool:
    return component.merge is not Merge.COLLECT


def _lacks(chosen: Callable[[Component], bool], what: str) -> Reason:
    """Say of a module that no component of it is of some kind."""

    def reason(module: Any) -> str | None:
        try:
            parts = module.components().values()
        except Exception:  # a law says so in better words
            return None
        return None if any(map(chosen, parts)) else f"{named(module)} has no component {what}"

    return reason


_NEEDS_FUNCTION: Final = _lacks(_has_own, "with a function of its own")
_ROUGH: Final = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=4)
"""Floats of which sums and products are rounded."""


class MergingLaws(ArrayLaws):
    """The values of a component form a commutative monoid; an inverse is one to the last bit."""

    @law("merge values that have the same place, and nothing else", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_goes_pair_by_pair(self, trial: ModuleTrial) -> None:
        """Merging n pairs of values gives n values, each what merging the pair alone gives."""
        subject = self.arrays(trial)
        for name, part, values in subject.values(subject.present(trial.members()), _has_own):
            others = _turned(trial, values)
            together = subject.merge(part, values, others)
            alone = [
                subject.merge(part, values[place : place + 1], others[place : place + 1])[0].tolist()
                for place in range(len(values))
            ]
            _expect_same(trial, name, ("pairs alone", alone), ("together", together.tolist()))

    @law("merge by a function for which (a + b) + c is a + (b + c)", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_is_associative(self, trial: ModuleTrial) -> None:
        """It does not matter which two of three values are merged first."""
        subject = self.arrays(trial)
        for name, part, a in subject.values(subject.present(trial.members()), _has_own):
            b, c = _turned(trial, a), _turned(trial, a)
            left = subject.merge(part, subject.merge(part, a, b), c)
            right = subject.merge(part, a, subject.merge(part, b, c))
            _expect_same(trial, name, ("(1+2)+3", left.tolist()), ("1+(2+3)", right.tolist()))

    @law("merge by a function for which a + b is b + a", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_is_commutative(self, trial: ModuleTrial) -> None:
        """It does not matter which of two values comes first."""
        subject = self.arrays(trial)
        for name, part, a in subject.values(subject.present(trial.members()), _has_own):
            b = _turned(trial, a)
            one, other = subject.merge(part, a, b).tolist(), subject.merge(part, b, a).tolist()
            _expect_same(trial, name, ("1+2", one), ("2+1", other))

    @law(
        "give the component the identity that changes nothing when merged, on either side",
        does_not_apply=_lacks(_is_merged, "that is merged"),
    )
    def test_merging_has_an_identity(self, trial: ModuleTrial) -> None:
        """Merging with the identity of a component, on either side, changes nothing."""
        subject = self.arrays(trial)
        for name, part, values in subject.values(subject.present(trial.members()), _is_merged):
            with calling("the identity of a component"):
                nothing = identities(part, len(values))
            alone = ("alone", values.tolist())
            _expect_same(trial, name, ("identity behind", subject.merge(part, values, nothing).tolist()), alone)
            _expect_same(trial, name, ("identity before", subject.merge(part, nothing, values).tolist()), alone)

    @law(
        "give no inverse, unless it is exact for all values: that of a sum of floats is not",
        does_not_apply=_lacks(lambda part: part.has_inverse, "with an inverse"),
    )
    def test_inverse_undoes_merging(self, trial: ModuleTrial) -> None:
        """Merging a value and taking it out again leaves the other one as it was, to the last bit."""
        subject = self.arrays(trial)
        payloads = subject.present(trial.members()) + self._rough(trial)
        for name, part, a in subject.values(payloads, lambda part: part.has_inverse):
            b, undo = _turned(trial, a), inverter(part)
            merged = subject.merge(part, a, b)
            with calling("the inverse of a component"):
                back = undo(merged, b) if undo else a
            if not _same_bits(a, back):
                seen = (a.tolist(), b.tolist(), back.tolist())
                raise trial.broken("{!r}: {}\nmerged with {} and without it again: {}".format(name, *seen))

    @classmethod
    def _rough(cls, trial: ModuleTrial) -> list[Any]:
        """Return floats that are not as friendly as those that are drawn by default, if any float may come."""
        if cls.payloads is not None or cls.reads().type != Scalar(ScalarKind.FLOAT):
            return []
        rough = trial.draw(_ROUGH)
        trial.stream += [f"and {payload!r}" for payload in rough]
        return rough


def _turned(trial: ModuleTrial, values: Any) -> Any:
    """Return values in another order."""
    by = trial.draw(st.integers(0, max(0, len(values) - 1)))
    return values[[(place + by) % len(values) for place in range(len(values))]]


def _expect_same(trial: ModuleTrial, name: str, left: tuple[str, object], right: tuple[str, object]) -> None:
    trial.expect_same((f"{name!r}, {left[0]}", left[1]), right)


def _same_bits(left: Any, right: Any) -> bool:
    if left.dtype == object:
        return equal(left.tolist(), right.tolist())
    return bool(left.dtype == right.dtype and left.tobytes() == right.tobytes())
