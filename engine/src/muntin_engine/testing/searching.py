"""Looking for a mishap that shows in the output, and for the smallest stream on which it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

from muntin import EarlyEmission, Refinement, TimestampPolicy
from muntin.errors import MuntinError
from muntin.testing import Script
from muntin_engine.testing.difference import OutputDifference, bag_difference
from muntin_engine.testing.following import LiveResult, Mishap, follow, meant
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.random_streams import smallest_failing
from muntin_engine.time.changes import Timing


class Search:
    """Runs a query in all ways, and compares."""

    def __init__(self, tested: QueryUnderTest, tolerance: float) -> None:
        """Prepare to look.

        Args:
            tested: The query and its stream.
            tolerance: Within which numbers in results are equal.
        """
        self._tested = tested
        self._tolerance = tolerance
        self._straight: dict[str, _OutputHistory] = {}

    def first(self, evaluators: Iterable[str]) -> OutputDifference | None:
        """Return the first difference that any mishap makes to one of some evaluators, or None."""
        found = (
            self.difference(evaluator, mishap)
            for evaluator in evaluators
            for mishap in (Mishap.RESTART, Mishap.CRASH, Mishap.NOTHING)
        )
        return next((one for one in found if one is not None), None)

    def difference(self, evaluator: str, mishap: Mishap, only_after: int | None = None) -> OutputDifference | None:
        """Return the first difference that a mishap makes to an evaluator, or None.

        Nothing happening is compared with the reference, and all else with nothing happening. What raises without a
        mishap is a difference that nothing makes, and what is another at each run is one that a second run makes.
        """
        straight = self._run_straight(evaluator)
        if straight.error is not None:
            return OutputDifference(self._tested, evaluator, Mishap.NOTHING, len(straight.steps), error=straight.error)
        if mishap is Mishap.NOTHING:
            seen = _seen_against_reference(self._tested, straight, self._tolerance)
        else:
            other = _record(self._tested, evaluator, mishap, only_after)
            seen = _seen(straight.steps, other, self._tolerance)
        if seen is None:
            return None
        is_chance = mishap is not Mishap.SECOND_RUN and self.difference(evaluator, Mishap.SECOND_RUN)
        breaks_contract = not is_chance and mishap is Mishap.NOTHING and self._breaks_contract(evaluator)
        return is_chance or OutputDifference(
            self._tested, evaluator, mishap, *seen, only_after=only_after, breaks_contract=breaks_contract
        )

    def _breaks_contract(self, evaluator: str) -> bool:
        """Return True if the output is the reference's as soon as no module promises to be time-bound."""
        less = self._tested.without_time_bound_contracts()
        if less is None:
            return False
        straight = _record(less, evaluator, Mishap.NOTHING)
        return straight.error is None and _seen_against_reference(less, straight, self._tolerance) is None

    def alone(self, found: OutputDifference) -> OutputDifference:
        """Return the difference that a single mishap makes; the one that was found, if a single one is not enough."""
        if found.mishap not in (Mishap.RESTART, Mishap.CRASH):
            return found
        places = range(len(self._tested.batches))
        alone = (self.difference(found.evaluator, found.mishap, place) for place in places)
        return next((one for one in alone if one is not None), found)

    def _run_straight(self, evaluator: str) -> _OutputHistory:
        if evaluator not in self._straight:
            self._straight[evaluator] = _record(self._tested, evaluator, Mishap.NOTHING)
        return self._straight[evaluator]


def smallest(found: OutputDifference, tolerance: float) -> OutputDifference:
    """Return the same kind of difference on the smallest stream that shows it, with the one step that it takes."""

    def on(script: Script) -> OutputDifference | None:
        try:
            again = Search(replace(found.tested, script=script), tolerance).difference(found.evaluator, found.mishap)
        except MuntinError:  # the evaluator cannot run what is left
            return None
        is_alike = again is not None and (again.mishap, type(again.error)) == (found.mishap, type(found.error))
        return again if is_alike else None

    best = on(smallest_failing(found.tested.script, lambda script: on(script) is not None)) or found
    return Search(best.tested, tolerance).alone(best)


@dataclass(slots=True)
class _OutputHistory:
    """The live output after each step, up to one that raised."""

    steps: list[Sequence[LiveResult]] = field(default_factory=list)
    error: Exception | None = None


class _Seen(NamedTuple):
    """The first difference of two records."""

    place: int
    wanted: Sequence[LiveResult] = ()
    got: Sequence[LiveResult] = ()
    error: Exception | None = None


def _record(tested: QueryUnderTest, evaluator: str, mishap: Mishap, only_after: int | None = None) -> _OutputHistory:
    record = _OutputHistory()
    try:
        for lines in follow(tested, evaluator, mishap, only_after):
            record.steps.append(lines)
    except Exception as error:  # a module may raise anything
        record.error = error
    return record


def _seen(wanted: Sequence[Sequence[LiveResult]], record: _OutputHistory, tolerance: float) -> _Seen | None:
    for place, (some, others) in enumerate(zip_longest(wanted, record.steps)):
        if others is None:
            return _Seen(place, error=record.error)
        missing, surplus = bag_difference(some, others, tolerance), bag_difference(others, some, tolerance)
        if missing or surplus:
            return _Seen(place, missing, surplus)
    return None


def _seen_against_reference(tested: QueryUnderTest, straight: _OutputHistory, tolerance: float) -> _Seen | None:
    """Compare with the reference evaluator, which knows of no early results, nor in which pieces results stand."""
    if tested.query.timestamps is TimestampPolicy.TIME_BOUND:
        return None  # the same rows are live at each tick, but one that was shortened and continued is in two pieces
    if not isinstance(tested.emit, EarlyEmission):
        return _seen(list(meant(tested)), straight, tolerance)
    if tested.emit.refinement is Refinement.DISCARD:
        return None  # a final result then holds what no early one held
    finals = [[line._replace(firing=0) for line in lines if line.timing is Timing.FINAL] for lines in straight.steps]
    return _seen(list(meant(tested)), _OutputHistory(list(finals)), tolerance)
