"""The search for a mishap that shows in the output, and for the smallest stream on which it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

from muntin import EarlyEmission, Refinement, TimestampPolicy
from muntin.errors import MuntinError
from muntin.testing import Script
from muntin_engine.testing.live_results import LiveResult
from muntin_engine.testing.output_difference import OutputDifference, bag_difference
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.random_streams import smallest_failing
from muntin_engine.testing.stepwise_run import Mishap, reference_steps, run_steps
from muntin_engine.time.changes import Timing


class Search:
    """Runs a query in all ways, and compares."""

    def __init__(self, tested: QueryUnderTest, tolerance: float) -> None:
        """Prepare the search, without a run.

        Args:
            tested: The query and its stream.
            tolerance: The distance within which numbers in results are equal.
        """
        self._tested = tested
        self._tolerance = tolerance
        self._undisturbed: dict[str, _OutputHistory] = {}  # the runs without a mishap, by evaluator

    def first(self, evaluators: Iterable[str]) -> OutputDifference | None:
        """Return the first difference that any mishap makes to one of the evaluators; None if none does."""
        for evaluator in evaluators:
            # `NOTHING`, the comparison with the reference, comes last: a restart that shows says more about the module.
            for mishap in (Mishap.RESTART, Mishap.CRASH, Mishap.NOTHING):
                difference = self.difference(evaluator, mishap)
                if difference is not None:
                    return difference
        return None

    def difference(self, evaluator: str, mishap: Mishap, only_after: int | None = None) -> OutputDifference | None:
        """Return the first difference that a mishap makes to an evaluator; None if it makes none.

        The undisturbed run, without a mishap, is compared with the reference, and all others with the undisturbed run.
        An exception in the undisturbed run is a difference of `NOTHING`, and output that differs at each run is a
        difference of `SECOND_RUN`.

        Args:
            evaluator: The name of the evaluator.
            mishap: The mishap.
            only_after: The one step after which the mishap happens; None if it happens after each.
        """
        undisturbed = self._undisturbed_run(evaluator)
        if undisturbed.error is not None:
            place = len(undisturbed.steps)  # the step that raised
            return OutputDifference(self._tested, evaluator, Mishap.NOTHING, place, error=undisturbed.error)
        if mishap is Mishap.NOTHING:
            difference = _difference_from_reference(self._tested, undisturbed, self._tolerance)
        else:
            history = _history_of(self._tested, evaluator, mishap, only_after)
            difference = _first_difference(undisturbed.steps, history, self._tolerance)
        if difference is None:
            return None

        # If the output differs at each run, the mishap is not the reason why it differs here.
        if mishap is not Mishap.SECOND_RUN:
            difference_by_chance = self.difference(evaluator, Mishap.SECOND_RUN)
            if difference_by_chance is not None:
                return difference_by_chance
        return OutputDifference(
            self._tested,
            evaluator,
            mishap,
            place=difference.place,
            expected=difference.expected,
            actual=difference.actual,
            error=difference.error,
            only_after=only_after,
            breaks_contract=mishap is Mishap.NOTHING and self._breaks_contract(evaluator),
        )

    def _breaks_contract(self, evaluator: str) -> bool:
        """Return True if the difference comes from a module that breaks its promise to be time-bound.

        Then the output equals the reference's if no module makes that promise.
        """
        without_promise = self._tested.without_time_bound_contracts()
        if without_promise is None:
            return False
        undisturbed = _history_of(without_promise, evaluator, Mishap.NOTHING)
        if undisturbed.error is not None:
            return False
        return _difference_from_reference(without_promise, undisturbed, self._tolerance) is None

    def with_single_mishap(self, difference: OutputDifference) -> OutputDifference:
        """Return the difference that a single mishap makes; `difference` itself, if a single one is not enough."""
        if difference.mishap not in (Mishap.RESTART, Mishap.CRASH):
            return difference
        for place in range(len(self._tested.batches)):
            single_difference = self.difference(difference.evaluator, difference.mishap, only_after=place)
            if single_difference is not None:
                return single_difference
        return difference

    def _undisturbed_run(self, evaluator: str) -> _OutputHistory:
        """Return the output of a run without a mishap; there is one such run for each evaluator."""
        if evaluator not in self._undisturbed:
            self._undisturbed[evaluator] = _history_of(self._tested, evaluator, Mishap.NOTHING)
        return self._undisturbed[evaluator]


def smallest(difference: OutputDifference, tolerance: float) -> OutputDifference:
    """Return a difference of the same kind on the smallest stream that shows one, if possible with a single mishap.

    Args:
        difference: The difference on the original stream.
        tolerance: The distance within which numbers in results are equal.
    """
    kind = _kind_of(difference)

    def difference_on(script: Script) -> OutputDifference | None:
        """Return a difference of the same kind on a stream; None if the stream shows none."""
        try:
            search = Search(replace(difference.tested, script=script), tolerance)
            new_difference = search.difference(difference.evaluator, difference.mishap)
        except MuntinError:  # the evaluator cannot run what is left
            return None
        if new_difference is None or _kind_of(new_difference) != kind:
            return None
        return new_difference

    script = smallest_failing(difference.tested.script, lambda script: difference_on(script) is not None)
    smallest_difference = difference_on(script) or difference  # by chance it may not show again
    return Search(smallest_difference.tested, tolerance).with_single_mishap(smallest_difference)


def _kind_of(difference: OutputDifference) -> tuple[Mishap, type]:
    """Return the mishap and the type of the exception, by which differences are of one kind."""
    return difference.mishap, type(difference.error)


@dataclass(slots=True)
class _OutputHistory:
    """The live output after each step of a run.

    Attributes:
        steps: The live output after each step, up to the first one that raised.
        error: The exception of that step; None if no step raised.
    """

    steps: list[Sequence[LiveResult]] = field(default_factory=list)
    error: Exception | None = None


class _StepDifference(NamedTuple):
    """The first difference of two histories.

    Attributes:
        place: The place of the step in the stream, from 0.
        expected: The results that are missing.
        actual: The results that were not expected.
        error: The exception, if the step raised one.
    """

    place: int
    expected: Sequence[LiveResult] = ()
    actual: Sequence[LiveResult] = ()
    error: Exception | None = None


def _history_of(
    tested: QueryUnderTest, evaluator: str, mishap: Mishap, only_after: int | None = None
) -> _OutputHistory:
    """Run a query with a mishap and return its output, which ends where a step raises.

    Args:
        tested: The query and its stream.
        evaluator: The name of the evaluator.
        mishap: The mishap.
        only_after: The one step after which the mishap happens; None if it happens after each.
    """
    history = _OutputHistory()
    try:
        for results in run_steps(tested, evaluator, mishap, only_after):
            history.steps.append(results)
    except Exception as error:  # a module may raise anything
        history.error = error
    return history


def _first_difference(
    expected: Sequence[Sequence[LiveResult]], history: _OutputHistory, tolerance: float
) -> _StepDifference | None:
    """Return the first step whose output is not the expected one, or which raised; None if there is none.

    Args:
        expected: The expected live output after each step.
        history: The run that is compared.
        tolerance: The distance within which numbers in results are equal.
    """
    for place, (expected_results, results) in enumerate(zip_longest(expected, history.steps)):
        if results is None:  # the history is shorter: this step raised
            return _StepDifference(place, error=history.error)
        missing = bag_difference(expected_results, results, tolerance)
        surplus = bag_difference(results, expected_results, tolerance)
        if missing or surplus:
            return _StepDifference(place, expected=missing, actual=surplus)
    return None


def _difference_from_reference(
    tested: QueryUnderTest, undisturbed: _OutputHistory, tolerance: float
) -> _StepDifference | None:
    """Return the first difference of an undisturbed run from the reference; None if there is none.

    The reference has no early results, and no result in pieces: where these matter, nothing is compared.
    """
    if tested.query.timestamps is TimestampPolicy.TIME_BOUND:
        return None  # the same rows are live at each tick, but a row that was shortened and continued is in two pieces
    if not isinstance(tested.emit, EarlyEmission):
        return _first_difference(list(reference_steps(tested)), undisturbed, tolerance)
    if tested.emit.refinement is Refinement.DISCARD:
        return None  # a final result holds only events that no early result held, and the reference's holds all
    final_steps: list[Sequence[LiveResult]] = []
    for results in undisturbed.steps:
        final_steps.append(_final_results(results))
    return _first_difference(list(reference_steps(tested)), _OutputHistory(final_steps), tolerance)


def _final_results(results: Sequence[LiveResult]) -> list[LiveResult]:
    """Return the final results, as if no early ones had come before them."""
    return [result._replace(firing=0) for result in results if result.timing is Timing.FINAL]
