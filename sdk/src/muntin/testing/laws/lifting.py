"""Laws of what a columnar aggregate lifts and computes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from muntin.components import Component, Merge
from muntin.testing import columns
from muntin.testing.equality import equal
from muntin.testing.laws.array_laws import ArrayLaws, ArraySubject
from muntin.testing.laws.law import law, named
from muntin.testing.laws.module_trial import ModuleTrial


def _lifts_nothing(module: Any) -> str | None:
    try:
        parts = module.components().values()
    except Exception:  # a law says so in better words
        return None
    return None if any(part.is_lifted for part in parts) else f"{named(module)} counts, and lifts nothing"


class LiftingLaws(ArrayLaws):
    """Each row, and each window, is computed from itself alone."""

    @law("build the same components, at least one, from the parameters alone")
    def test_components_stay_the_same(self, trial: ModuleTrial) -> None:
        """The components have the same names, in the same order, and are of the same kinds and types at any time."""
        subject = self.arrays(trial)
        before = _layout(subject)
        trial.expect(bool(before), lambda: "there is no component")
        if payloads := subject.present(trial.members()):
            subject.compute(subject.keep([payloads]), 1)
        after = _layout(subject)
        trial.expect(after == before, lambda: f"at first: {before}\nafter a window: {after}")

    @law(
        "return an array for each component that is no count: the first axis has length n, the others its shape",
        does_not_apply=_lifts_nothing,
    )
    def test_lift_returns_each_component(self, trial: ModuleTrial) -> None:
        """Of n payloads lift returns n values of each component but the counts, of its shape and type, and no more."""
        subject = self.arrays(trial)
        subject.lift(subject.present(trial.members()))

    @law("compute each row from itself alone, and let no rows give no values", does_not_apply=_lifts_nothing)
    def test_rows_are_independent(self, trial: ModuleTrial) -> None:
        """Lifting two batches, one of them perhaps empty, gives what lifting all their rows in any order gives."""
        subject = self.arrays(trial)
        payloads = subject.present(trial.members())
        order = trial.order(len(payloads))
        cut = trial.draw(st.integers(0, len(payloads)))
        batches = [[payloads[place] for place in places] for places in (order[:cut], order[cut:])]
        together = {name: values[order] for name, values in subject.lift(payloads).items()}
        first, second = (subject.lift(batch) for batch in batches)
        for name, values in together.items():
            trial.expect_same(
                (f"{name!r} of {batches[0]!r}, then {batches[1]!r}", [*first[name].tolist(), *second[name].tolist()]),
                ("of all together", values.tolist()),
            )

    @law("compute each window from its own components alone: no sums or ranks over windows")
    def test_results_are_independent(self, trial: ModuleTrial) -> None:
        """The result of a window does not depend on those computed along with it, nor on their order."""
        subject = self.arrays(trial)
        groups = [payloads for label in ("first", "second") if (payloads := subject.present(trial.members(label)))]
        alone = [result for group in groups for result in subject.compute(subject.keep([group]), 1)]
        for order in (1, -1):
            if windows := groups[::order]:
                together = subject.compute(subject.keep(windows), len(windows))
                trial.expect_same(("windows one by one", alone), ("together", together[::order]))

    @law("make new arrays: payloads * 2, not payloads *= 2; numpy.sort(payloads), not payloads.sort()")
    def test_arrays_are_read_only(self, trial: ModuleTrial) -> None:
        """Neither lift nor compute_results nor the function of a component changes an array that it is given."""
        subject = self.arrays(trial)
        if payloads := subject.present(trial.members()):
            _expect_lift_reads(trial, subject, payloads)
            _expect_merge_reads(trial, subject, payloads)
            kept = subject.keep([payloads])
            before = _protected(kept)
            subject.compute(kept, 1, remedy=None)
            _expect_kept(trial, "compute_results", before, kept)


def _layout(subject: ArraySubject) -> list[str]:
    return [f"{name}: {_spell(part)}" for name, part in subject.components().items()]


def _spell(part: Component) -> str:
    own = [name for name in ("function", "inverse") if getattr(part, name) is not None]
    shape = f" of the shape {part.shape}" if part.shape else ""
    return f"{part.merge.name} {part.dtype}{shape} from {part.identity!r}{' with a ' if own else ''}{' and '.join(own)}"


def _expect_lift_reads(trial: ModuleTrial, subject: ArraySubject, payloads: list[object]) -> None:
    arrays = columns.arrays_of(subject.form, subject.reads, payloads)
    before = _protected(arrays)
    subject.lift_arrays(arrays, len(payloads))
    _expect_kept(trial, "lift", before, arrays)


def _expect_merge_reads(trial: ModuleTrial, subject: ArraySubject, payloads: list[object]) -> None:
    for name, part, values in subject.values(payloads, lambda part: part.merge is Merge.CUSTOM):
        operands = {"first": values.copy(), "second": values[::-1].copy()}
        before = _protected(operands)
        subject.merge(part, operands["first"], operands["second"], remedy=None)
        _expect_kept(trial, f"the function of {name!r}", before, operands)


def _protected(arrays: object) -> list[Any]:
    """Make arrays read-only, as those of an engine may be, and return what they hold."""
    columns.protect(arrays)
    return columns.plain(arrays)


def _expect_kept(trial: ModuleTrial, method: str, before: list[object], arrays: object) -> None:
    trial.expect(
        equal(columns.plain(arrays), before),
        lambda: f"given to {method}: {before!r}\nafterwards: {columns.plain(arrays)!r}",
    )
