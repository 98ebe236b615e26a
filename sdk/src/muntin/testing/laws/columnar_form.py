"""The law of modules that have a form that runs on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isclose, isfinite, isnan
from typing import Any, Final

import pytest

from muntin.events import Event
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.schemas import bind, spell, variables_in
from muntin.testing import columns
from muntin.testing.equality import alike, parts_of
from muntin.testing.fitting import misfit
from muntin.testing.laws.array_laws import ArrayLaws, calling
from muntin.testing.laws.law import lacks, law, named
from muntin.testing.laws.module_trial import ModuleTrial

_EPSILON: Final = 2.0**-52


class ColumnarFormLaws(ArrayLaws):
    """The columnar form gives the same results as the module."""

    @classmethod
    def magnitude(cls, payloads: Sequence[object]) -> float:
        """Return the magnitude of the sums that the columnar form makes of a window's payloads.

        Results that are floats may differ by the `tolerance` and by rounding: for n payloads n * 2**-52 times the
        result, and n * 2**-52 times the magnitude. Where that is infinite sums overflow, and nothing is compared. By
        default all numbers in the payloads are added up; for a form that sums their squares, say, override this.
        """
        return sum(abs(float(number)) for payload in payloads for number in _numbers(payload) if isfinite(number))

    @law(
        "compare lift, components and compute_results with what the module itself does; or return None for that input",
        does_not_apply=lacks("columnar_form"),
    )
    def test_columnar_form_gives_the_same_result(self, trial: ModuleTrial) -> None:
        """The columnar form gives every window the module's own result; floats may differ by the rounding of sums.

        That of a time-sensitive module does so where all members last as long as the window.
        """
        form, reads = self._form(trial), self.reads()
        windows = {label: _spanning(trial, trial.members(label)) for label in ("first", "second")}
        payloads = [[event.payload for event in members] for members in windows.values()]
        if any(misfit(reads, payload) for group in payloads for payload in group):
            return  # no query has such payloads
        with calling("the columnar form"):
            results = columns.results(form, reads, payloads)
        for (label, members), result in zip(windows.items(), results, strict=True):
            self._compare(trial, label, members, result)

    def _form(self, trial: ModuleTrial) -> ColumnarAggregate[Any, Any]:
        module, reads = trial.subject.module, self.reads()
        if variables_in(reads):
            pytest.skip(f"does not apply: the payloads of {named(module)} are not of one type that a column has")
        with calling("columnar_form"):
            form = module.columnar_form(reads)
        if form is None:
            pytest.skip(f"does not apply: {named(module)} has no columnar form for {spell(reads)}")
        trial.expect(isinstance(form, ColumnarAggregate), lambda: f"columnar_form returned {form!r}, no aggregate")
        return form  # type: ignore[no-any-return]  # it was just looked at

    def _compare(self, trial: ModuleTrial, label: str, members: Sequence[Event[object]], result: object) -> None:
        own, declared = trial.subject.result(members), bind(trial.subject.module.result_field(), self.variables())
        if misfit(declared, own, is_result=True):
            return  # a column does not have it either, such as an integer of more than 64 bits
        reason = misfit(declared, result, is_result=True)
        trial.expect(reason is None, lambda: f"the result {result!r} of the form does not fit: {reason}")
        payloads = [event.payload for event in members]
        rounding = len(payloads) * _EPSILON
        relative, absolute = max(trial.tolerance, rounding), max(trial.tolerance, rounding * self.magnitude(payloads))
        trial.expect(
            alike(own, result, lambda one, other: _close(one, other, relative, absolute)),
            lambda: f"{label} window, columnar form: {result!r}\nmodule: {own!r}",
        )


def _spanning(trial: ModuleTrial, members: Sequence[Event[object]]) -> Sequence[Event[object]]:
    """Return members that last as long as the window, if the module sees lifetimes."""
    if not trial.subject.module.is_time_sensitive:
        return members
    window = trial.subject.window
    return [Event(window.start, window.end, event.payload) for event in members]


def _numbers(payload: object) -> Iterator[Any]:
    if isinstance(payload, int | float):
        yield payload
    elif not isinstance(payload, dict):
        for part in parts_of(payload) or ():
            yield from _numbers(part)


def _close(left: Any, right: Any, relative: float, absolute: float) -> bool:
    if left == right or (isnan(left) and isnan(right)):
        return True
    if isinstance(left, int) and isinstance(right, int):
        return False
    return absolute == inf or isclose(left, right, rel_tol=relative, abs_tol=absolute)
