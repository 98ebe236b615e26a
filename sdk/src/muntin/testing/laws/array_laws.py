"""Laws of columnar aggregates and columnar forms: lifting payloads, merging components, computing results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from math import inf, isclose, isfinite, isnan
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import strategies as st

from muntin.columnar.merging import contributions, fold_rows, identities, inverter, merge
from muntin.columnar.payloads import observed, observed_types
from muntin.columnar.results import results_of
from muntin.errors import ModuleContractError
from muntin.events import Event
from muntin.modules.columnar_aggregate import ColumnarAggregate
from muntin.schemas import Field, Scalar, ScalarKind, bind, spell, variables_in
from muntin.schemas.components import Component, Merge
from muntin.testing import columns
from muntin.testing.equality import alike, equal, parts_of
from muntin.testing.fitting import misfit
from muntin.testing.laws.conformance import law
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.trial import ANY_PAYLOAD, CallError, Reason, calling, first_of, lacks, named

_AS_DECLARED: Final = "return what components declares, or declare what it returns"
_EPSILON: Final = 2.0**-52


@contextmanager
def on_arrays(function: str, remedy: str | None = ANY_PAYLOAD) -> Iterator[None]:
    """Report an exception of a writer's function, or a result that breaks its contract.

    Args:
        function: The name of the function in the report.
        remedy: The remedy for the writer; None for that of the law that is tried.
    """
    with calling(function, remedy):
        try:
            yield
        except ModuleContractError as error:
            raise CallError(str(error), _AS_DECLARED) from error


@dataclass(frozen=True, slots=True)
class ArraySubject:
    """A columnar aggregate under test.

    Attributes:
        form: The aggregate.
        reads: Its input, with type variables bound.
    """

    form: ColumnarAggregate[Any, Any]
    reads: Field

    def payloads_read(self, members: Sequence[Event[object]]) -> list[Any]:
        """Return the payloads of members that the aggregate reads: without nulls, if it skips nulls."""
        return columns.payloads_read(self.form, self.reads, [event.payload for event in members])

    def components(self) -> dict[str, Component]:
        """Return the components of the aggregate."""
        with on_arrays("components"):
            return dict(self.form.components())

    def lift(self, payloads: Sequence[object]) -> dict[str, Any]:
        """Lift payloads: return their contributions to each component."""
        with on_arrays(f"lift, of {len(payloads)} payloads,"):
            return columns.lift(self.form, self.reads, payloads)

    def windows(self, groups: Sequence[Sequence[object]]) -> dict[str, Any]:
        """Return the components of windows, with one value per window, from one group of payloads per window."""
        with on_arrays("lift"):
            return columns.windows(self.form, self.reads, groups)

    def compute(self, components: dict[str, Any], count: int, remedy: str | None = ANY_PAYLOAD) -> list[Any]:
        """Return the results of a number of windows from their components."""
        with on_arrays("compute_results", remedy):
            return results_of(self.form, components, count)

    def values(
        self, payloads: Sequence[Any], is_tested: Callable[[Component], bool]
    ) -> list[tuple[str, Component, Any]]:
        """Return values for the laws of merging: each payload's own, and the first two, three ... merged.

        Args:
            payloads: The payloads.
            is_tested: The predicate of the components whose values are returned.

        Returns:
            The name, the component and the array of its values, for each tested component that merges values.
        """
        lifted = self.lift(payloads)
        values_of: list[tuple[str, Component, Any]] = []
        for name, component in self.components().items():
            if component.merge is Merge.COLLECT or not is_tested(component):
                continue
            # A count is not lifted: each payload counts one.
            values = lifted[name] if component.is_lifted else np.ones(len(payloads), "int64")
            with on_arrays("the function of a component"):
                folded = [fold_rows(component, values[:end]) for end in range(2, len(values) + 1)]
            values_of.append((name, component, np.concatenate([values, *folded])))
        return values_of

    def merge(self, component: Component, first: Any, second: Any, remedy: str | None = ANY_PAYLOAD) -> Any:
        """Merge two arrays of a component's values, pair by pair."""
        with on_arrays("the function of a component", remedy):
            return merge(component, first, second)


class ArrayLaws(ModuleLaws):
    """Laws of modules that get payloads as arrays, in the types that a query would bind."""

    @classmethod
    def reads(cls) -> Field:
        """Return the module's input, with type variables bound to the types of the first payloads."""
        return observed(cls.subject().input_field(), cls._first_payloads())

    @classmethod
    def arrays(cls, trial: ModuleTrial) -> ArraySubject:
        """Return the columnar aggregate under test."""
        return ArraySubject(trial.tested, cls.reads())

    @classmethod
    @cache
    def _first_payloads(cls) -> tuple[Any, ...]:
        """Return a few payloads, always the same ones, by whose types type variables are bound."""
        return tuple(first_of(cls._payload_strategy(), count=25))


class ColumnarFormLaws(ArrayLaws):
    """The columnar form gives the same results as the module."""

    @classmethod
    def magnitude(cls, payloads: Sequence[object]) -> float:
        """Return the magnitude of the sums that the columnar form makes of a window's payloads.

        Results that are floats may differ by the `tolerance` and by rounding: for n payloads n * 2**-52 times the
        result, and n * 2**-52 times the magnitude. Where the magnitude is infinite, sums overflow, and nothing is
        compared. By default all numbers in the payloads are added up; for a form that sums their squares, say, override
        this.
        """
        magnitude = 0.0
        for payload in payloads:
            for number in _numbers(payload):
                if isfinite(number):
                    magnitude += abs(float(number))
        return magnitude

    @law(
        "compare lift, components and compute_results with what the module itself does; or return None for that input",
        does_not_apply=lacks("columnar_form"),
    )
    def test_columnar_form_gives_the_same_result(self, trial: ModuleTrial) -> None:
        """The columnar form gives every window the module's own result; floats may differ by the rounding of sums.

        A time-sensitive module is tried only with members that last as long as the window, as a form gets no times.

        Whole numbers are equal, whatever the tolerance. The form is requested with the module's own input type;
        type variables are bound by the first payloads. Skipped for a module without `columnar_form`, or where
        that returns None.
        """
        module = trial.tested
        reads = self.reads()
        if variables_in(reads):
            pytest.skip(f"does not apply: the payloads of {named(module)} are not of one type that a column has")
        with on_arrays("columnar_form"):
            form = module.columnar_form(reads)
        if form is None:
            pytest.skip(f"does not apply: {named(module)} has no columnar form for {spell(reads)}")
        trial.expect(isinstance(form, ColumnarAggregate), f"columnar_form returned {form!r}, no aggregate")

        # Two windows, which the form computes at once.
        windows = {label: trial.members(label) for label in ("first", "second")}
        if module.is_time_sensitive:
            # The form gets payloads alone, so it stands for the module only where members last as long as the window.
            span = trial.subject.window
            for label, members in windows.items():
                windows[label] = [Event(span.start, span.end, member.payload) for member in members]

        payloads: list[list[object]] = []
        for members in windows.values():
            payloads.append([member.payload for member in members])
        if any(misfit(reads, payload) for payload in chain.from_iterable(payloads)):
            return  # no query has such payloads

        with on_arrays("the columnar form"):
            results = columns.results(form, reads, payloads)
        # Results come in the order of the windows.
        for (label, members), result in zip(windows.items(), results, strict=True):
            self._compare(trial, label, members, result)

    def _compare(self, trial: ModuleTrial, label: str, members: Sequence[Event[object]], result: object) -> None:
        """Expect that the form's result of a window fits the declared type, and is close to the module's own."""
        variables = observed_types(trial.tested.input_field(), self._first_payloads())
        expected = trial.subject.result(members)  # of the module that is tested, for the window of the trial
        declared_field = bind(trial.tested.result_field(), variables)
        if misfit(declared_field, expected, is_result=True):
            return  # the module's own result is not of the declared type, which the law of results reports
        reason = misfit(declared_field, result, is_result=True)
        trial.expect(reason is None, f"the result {result!r} of the form does not fit: {reason}")
        payloads = [event.payload for event in members]
        # The error of adding n floats one by one grows with n and with the sum of their sizes.
        rounding = len(payloads) * _EPSILON
        are_close = partial(
            _close,
            relative=max(trial.tolerance, rounding),
            absolute=max(trial.tolerance, rounding * self.magnitude(payloads)),
        )
        trial.expect(
            alike(expected, result, are_close),
            lambda: f"{label} window, columnar form: {result!r}\nmodule: {expected!r}",
        )


def _numbers(payload: object) -> Iterator[Any]:
    """Yield the numbers in a payload, at any depth; those in a dict are left out."""
    if isinstance(payload, int | float):
        yield payload
    elif not isinstance(payload, dict):
        for part in parts_of(payload) or ():
            yield from _numbers(part)


def _close(left: Any, right: Any, relative: float, absolute: float) -> bool:
    """Return True if two numbers are equal but for rounding; integers are not rounded.

    Args:
        left: A number.
        right: The other number.
        relative: The difference that is allowed, as a share of the larger number.
        absolute: The difference that is allowed whatever the numbers are; infinite if floats are not compared.
    """
    if left == right or (isnan(left) and isnan(right)):
        return True
    if isinstance(left, int) and isinstance(right, int):
        return False
    return absolute == inf or isclose(left, right, rel_tol=relative, abs_tol=absolute)


def _has_function(component: Component) -> bool:
    """Return True if a function of the writer's merges values of the component."""
    return component.merge is Merge.CUSTOM


def _lacks(is_tested: Callable[[Component], bool], fault: str) -> Reason:
    """Make the function that says why a law does not apply: the module has no component of the tested kind.

    Args:
        is_tested: The predicate of the components that the law is about.
        fault: The end of the reason, which begins with the name of the module.
    """

    def reason(module: Any) -> str | None:
        """Return the reason why the law does not apply to a module; None if it applies."""
        try:
            components = module.components().values()
        except Exception:  # another law reports it in full
            return None
        return None if any(map(is_tested, components)) else f"{named(module)} {fault}"

    return reason


_LIFTS_NOTHING: Final = _lacks(lambda component: component.is_lifted, "counts, and lifts nothing")


class LiftingLaws(ArrayLaws):
    """Each row, and each window, is computed from itself alone."""

    @law("build the same components, at least one, from the parameters alone")
    def test_components_stay_the_same(self, trial: ModuleTrial) -> None:
        """The components have the same names, in the same order, and are of the same kinds and types at any time.

        They are the layout of a checkpoint.
        """
        subject = self.arrays(trial)
        first_layout = _layout(subject)
        trial.expect(bool(first_layout), "there is no component")
        payloads = subject.payloads_read(trial.members())
        if payloads:
            subject.compute(subject.windows([payloads]), count=1)
        layout = _layout(subject)
        trial.expect(layout == first_layout, f"at first: {first_layout}\nafter a window: {layout}")

    @law(
        "return an array for each component that is no count: the first axis has length n, the others its shape",
        does_not_apply=_LIFTS_NOTHING,
    )
    def test_lift_returns_each_component(self, trial: ModuleTrial) -> None:
        """Of n payloads lift returns n values of each component but the counts, of its shape and type, and no more."""
        subject = self.arrays(trial)
        subject.lift(subject.payloads_read(trial.members()))  # it refuses arrays of another shape or type

    @law("compute each row from itself alone, and return empty arrays for no rows", does_not_apply=_LIFTS_NOTHING)
    def test_rows_are_independent(self, trial: ModuleTrial) -> None:
        """Lifting two batches, one of them perhaps empty, gives what lifting all their rows in any order gives.

        Do not use ranks, running totals or averages over the rows of one call.
        """
        subject = self.arrays(trial)
        payloads = subject.payloads_read(trial.members())
        order = trial.order(len(payloads))
        cut = trial.draw(st.integers(0, len(payloads)))
        first_batch = [payloads[place] for place in order[:cut]]
        second_batch = [payloads[place] for place in order[cut:]]

        lifted_together = subject.lift(payloads)
        lifted_first = subject.lift(first_batch)
        lifted_second = subject.lift(second_batch)
        for component, values in lifted_together.items():
            values_in_two_batches = lifted_first[component].tolist() + lifted_second[component].tolist()
            trial.expect_same(
                (f"{component!r} of {first_batch!r}, then {second_batch!r}", values_in_two_batches),
                ("of all together", values[order].tolist()),
            )

    @law("compute each window from its own components alone: no sums or ranks over windows")
    def test_results_are_independent(self, trial: ModuleTrial) -> None:
        """The result of a window does not depend on those computed along with it, nor on their order."""
        subject = self.arrays(trial)
        # A window whose payloads are all null has no result of its own to compute.
        groups: list[list[Any]] = []
        for label in ("first", "second"):
            payloads = subject.payloads_read(trial.members(label))
            if payloads:
                groups.append(payloads)
        if not groups:
            return
        results_alone: list[Any] = []
        for group in groups:
            results_alone += subject.compute(subject.windows([group]), count=1)
        together = subject.compute(subject.windows(groups), count=len(groups))
        trial.expect_same(("windows one by one", results_alone), ("together", together))
        backwards = subject.compute(subject.windows(groups[::-1]), count=len(groups))
        trial.expect_same(("windows one by one", results_alone), ("together", backwards[::-1]))

    @law("make new arrays: payloads * 2, not payloads *= 2; numpy.sort(payloads), not payloads.sort()")
    def test_arrays_are_read_only(self, trial: ModuleTrial) -> None:
        """Neither lift nor compute_results nor the function of a component changes an array that it is given.

        Arrays may be views that the engine or another module reads: `payloads * 2`, not `payloads *= 2`.
        """
        subject = self.arrays(trial)
        payloads = subject.payloads_read(trial.members())
        if not payloads:
            return
        arrays = columns.arrays_of(subject.form, subject.reads, payloads)
        # Without a remedy of its own, an error about a read-only array is reported with the remedy of this law.
        with _protected(trial, "lift", arrays), on_arrays("lift", remedy=None):
            contributions(subject.form, arrays, len(payloads))
        for name, component, values in subject.values(payloads, _has_function):
            operands = {"first": values.copy(), "second": values[::-1].copy()}
            with _protected(trial, f"the function of {name!r}", operands):
                subject.merge(component, operands["first"], operands["second"], remedy=None)
        components = subject.windows([payloads])
        with _protected(trial, "compute_results", components):
            subject.compute(components, count=1, remedy=None)


def _layout(subject: ArraySubject) -> list[str]:
    """Return a line for each component of the aggregate: its name, its type and how its values are merged."""
    return [f"{name}: {_spell(component)}" for name, component in subject.components().items()]


def _spell(component: Component) -> str:
    """Describe a component in one line, for reports."""
    functions = [name for name in ("function", "inverse") if getattr(component, name) is not None]
    shape = f" of the shape {component.shape}" if component.shape else ""
    with_functions = f" with a {' and '.join(functions)}" if functions else ""
    return f"{component.merge.name} {component.dtype}{shape} from {component.identity!r}{with_functions}"


def _protected(trial: ModuleTrial, method: str, arrays: object) -> AbstractContextManager[None]:
    """Make arrays read-only, as those of an engine may be, and raise if they change all the same."""
    columns.protect(arrays)
    return trial.unchanged(f"given to {method}", "afterwards", arrays, copy=columns.plain)


_NEEDS_FUNCTION: Final = _lacks(_has_function, "has no component with a function of its own")
_ROUNDED_FLOATS: Final = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=4)
"""Floats of which sums and products are rounded."""


class MergingLaws(ArrayLaws):
    """The values of a component form a commutative monoid; an inverse is one to the last bit."""

    @law("merge values that have the same place, and nothing else", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_goes_pair_by_pair(self, trial: ModuleTrial) -> None:
        """Merging n pairs of values at once gives the same n values as merging each pair alone.

        It is tried for components with a function of their own.
        """
        subject = self.arrays(trial)
        for name, component, values in subject.values(subject.payloads_read(trial.members()), _has_function):
            second_values = _rotated(trial, values)
            together = subject.merge(component, values, second_values)
            merged_alone: list[Any] = []
            for place in range(len(values)):
                pair = slice(place, place + 1)
                merged_alone.append(subject.merge(component, values[pair], second_values[pair])[0].tolist())
            _expect_same(trial, name, ("pairs alone", merged_alone), ("together", together.tolist()))

    @law("merge by a function for which (a + b) + c is a + (b + c)", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_is_associative(self, trial: ModuleTrial) -> None:
        """It does not matter which two of three values are merged first."""
        subject = self.arrays(trial)
        for name, component, a in subject.values(subject.payloads_read(trial.members()), _has_function):
            # The same values in other orders, each rotated by a distance that is drawn.
            b = _rotated(trial, a)
            c = _rotated(trial, a)
            left = subject.merge(component, subject.merge(component, a, b), c)
            right = subject.merge(component, a, subject.merge(component, b, c))
            _expect_same(trial, name, ("(1+2)+3", left.tolist()), ("1+(2+3)", right.tolist()))

    @law("merge by a function for which a + b is b + a", does_not_apply=_NEEDS_FUNCTION)
    def test_merging_is_commutative(self, trial: ModuleTrial) -> None:
        """It does not matter which of two values comes first."""
        subject = self.arrays(trial)
        for name, component, a in subject.values(subject.payloads_read(trial.members()), _has_function):
            b = _rotated(trial, a)
            merged = subject.merge(component, a, b).tolist()
            swapped = subject.merge(component, b, a).tolist()
            _expect_same(trial, name, ("1+2", merged), ("2+1", swapped))

    @law(
        "give the component the identity that changes nothing when merged, on either side",
        does_not_apply=_lacks(
            lambda component: component.merge is not Merge.COLLECT, "has no component that is merged"
        ),
    )
    def test_merging_has_an_identity(self, trial: ModuleTrial) -> None:
        """Merging with the identity of a component, on either side, changes nothing."""
        subject = self.arrays(trial)
        for name, component, values in subject.values(subject.payloads_read(trial.members()), lambda component: True):
            with on_arrays("the identity of a component"):
                identity_values = identities(component, len(values))
            alone = ("alone", values.tolist())
            behind = subject.merge(component, values, identity_values)
            _expect_same(trial, name, ("identity behind", behind.tolist()), alone)
            before = subject.merge(component, identity_values, values)
            _expect_same(trial, name, ("identity before", before.tolist()), alone)

    @law(
        "give no inverse, unless it is exact for all values: that of a sum of floats is not",
        does_not_apply=_lacks(lambda component: component.has_inverse, "has no component with an inverse"),
    )
    def test_inverse_undoes_merging(self, trial: ModuleTrial) -> None:
        """Merging a value and taking it out again leaves the other one as it was, to the last bit.

        A sum of floats that a function of the writer's own adds has no such inverse.
        """
        subject = self.arrays(trial)
        payloads = subject.payloads_read(trial.members()) + self._rounded_floats(trial)
        for name, component, a in subject.values(payloads, lambda component: component.has_inverse):
            b = _rotated(trial, a)
            undo = inverter(component)
            assert undo is not None, "only components with an inverse are tested"
            merged = subject.merge(component, a, b)
            with on_arrays("the inverse of a component"):
                undone = undo(merged, b)
            if not _same_bits(a, undone):
                raise trial.broken(
                    f"{name!r}: {a.tolist()}\nmerged with {b.tolist()} and without it again: {undone.tolist()}"
                )

    @classmethod
    def _rounded_floats(cls, trial: ModuleTrial) -> list[Any]:
        """Draw floats whose sums are rounded, unlike those that are drawn by default.

        There are none if the writer gives a strategy of payloads, or the module does not read floats.
        """
        if cls.payloads is not None or cls.reads().type != Scalar(ScalarKind.FLOAT):
            return []
        payloads = trial.draw(_ROUNDED_FLOATS)
        trial.stream += [f"and {payload!r}" for payload in payloads]
        return payloads


def _rotated(trial: ModuleTrial, values: Any) -> Any:
    """Rotate values by a random number of places, so that each is merged with another one of them."""
    distance = trial.draw(st.integers(0, max(0, len(values) - 1)))
    return np.roll(values, -distance, axis=0)


def _expect_same(trial: ModuleTrial, name: str, left: tuple[str, object], right: tuple[str, object]) -> None:
    """Raise unless two values of the component of that name, each with a description, are equal."""
    trial.expect_same((f"{name!r}, {left[0]}", left[1]), right)


def _same_bits(left: Any, right: Any) -> bool:
    """Return True if two arrays are equal bit by bit; arrays of objects, if their objects are equal."""
    if left.dtype == object:
        return equal(left.tolist(), right.tolist())
    return bool(left.dtype == right.dtype and left.tobytes() == right.tobytes())
