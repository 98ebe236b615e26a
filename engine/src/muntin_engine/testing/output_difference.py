"""The difference that a mishap made in the output, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muntin import EarlyEmission
from muntin.drawings import Bar, timeline
from muntin.testing import Boundary, equal
from muntin.testing.batches import Step
from muntin.testing.timeline import row_of, spell_value
from muntin_engine.errors import StateError
from muntin_engine.testing.live_results import LiveResult
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.stepwise_run import Mishap
from muntin_engine.time.changes import Timing

_IN_THE_STATE: Final = (
    "keep all that a result depends on in the state, as plain data:\n"
    "    nothing on self after __init__, nothing on the class, in a module's globals or in a default argument"
)
_REMEDIES: Final = {
    Mishap.NOTHING: (
        "compute from the members and the state alone, and let no two parts of the state be one object;\n"
        "    the laws of its base class say which method is wrong; if it keeps them all, the fault is Muntin's"
    ),
    Mishap.SECOND_RUN: (
        "compute from the members and the state alone: no clock, no random numbers, nothing kept in the class or in\n"
        "    global variables"
    ),
    Mishap.RESTART: _IN_THE_STATE,
    Mishap.CRASH: f"{_IN_THE_STATE};\n"
    "    a step whose writes were lost is run again, and what lies elsewhere counts twice",
}
_LABELS: Final = {
    Mishap.NOTHING: ("reference", "engine"),
    Mishap.SECOND_RUN: ("first run", "second run"),
    Mishap.RESTART: ("without", "restarted"),
    Mishap.CRASH: ("without", "run again"),
}
_RAISED: Final = "make it work for the stream above"
_NOT_TIME_BOUND: Final = (
    "let no change of the input alter output before its sync time, which is the start of what comes or goes, or the\n"
    "    earlier of two ends: the engine shortens earlier output there and does not ask for it again. If the module\n"
    "    cannot, declare contract = OutputContract.WINDOW_BASED; muntin.testing has the law for it"
)
_NOT_PLAIN: Final = (
    "build states and results from plain data: numbers, text, bytes, dates, times, and lists, tuples, sets, dicts,\n"
    "    dataclasses and named tuples of these; name the records in the types that the class declares"
)


@dataclass(frozen=True)
class OutputDifference:
    """A mishap that shows in the output.

    Attributes:
        tested: The query and its stream.
        evaluator: The name of the evaluator.
        mishap: The mishap.
        place: The step after which the output differs, or which raised.
        expected: The results that ought to be live after that step and are not: those of a run without the mishap, or,
            if the mishap is `NOTHING`, those of the reference.
        actual: The results that are live and ought not to be.
        error: The exception, if the step raised one.
        only_after: The one step after which the mishap happened; None if it happened after each.
        breaks_contract: True if the output differs only because a module promises to be time-bound and is not.
    """

    tested: QueryUnderTest
    evaluator: str
    mishap: Mishap
    place: int
    expected: Sequence[LiveResult] = ()
    actual: Sequence[LiveResult] = ()
    error: Exception | None = None
    only_after: int | None = None
    breaks_contract: bool = False

    @property
    def remedy(self) -> str:
        """The advice for the module's writer."""
        if isinstance(self.error, StateError):
            return _NOT_PLAIN
        if self.breaks_contract:
            return _NOT_TIME_BOUND
        return _RAISED if self.error is not None and self.mishap is Mishap.NOTHING else _REMEDIES[self.mishap]

    @property
    def facts(self) -> str:
        """The sentence that says which output differs, under which mishap, after which step."""
        emit = "early results" if isinstance(self.tested.emit, EarlyEmission) else f"{self.tested.emit} results"
        run = f"{emit} of {self.tested.query.window}, evaluator {self.evaluator}, {self._when}:"
        if self.error is not None:
            return f"{run}\nstep {self.place + 1} raised {type(self.error).__name__}: {self.error}"
        return f"{run}\nafter step {self.place + 1} the output is another"

    @property
    def drawing(self) -> str:
        """The stream, with the mishap, and the lines of the output that differ."""
        expected_label, actual_label = _LABELS[self.mishap]
        bars = [_bar(expected_label, result, self.tested) for result in self.expected]
        bars += [_bar(actual_label, result, self.tested) for result in self.actual]
        rows = [row_of(step) for step in self._steps()]
        if bars:
            rows += ["", *bars]
        return timeline(rows)

    @property
    def _when(self) -> str:
        """The words for the mishap and the step after which it happened."""
        if self.mishap in (Mishap.NOTHING, Mishap.SECOND_RUN):
            return "without any restart"
        step = "each step" if self.only_after is None else f"step {self.only_after + 1}"
        if self.mishap is Mishap.RESTART:
            return f"with a restart after {step}"
        return f"with {step} run again, as after a crash before its state was kept"

    def _steps(self) -> Iterator[Step]:
        """Yield the steps up to the one that shows the difference, with the restarts before it."""
        steps = [step for step in self.tested.script.steps if not isinstance(step, Boundary)]
        for place, step in enumerate(steps[: self.place + 1]):
            yield step
            # A restart after the step that shows the difference comes too late to be its cause.
            if self.mishap is Mishap.RESTART and self.only_after in (None, place) and place < self.place:
                yield Boundary.RESTART


def bag_difference(left: Sequence[LiveResult], right: Sequence[LiveResult], tolerance: float) -> list[LiveResult]:
    """Return the results on the left that have no equal on the right. A result on the right is the equal of only one.

    Args:
        left: The results that are looked for.
        right: The results among which they are looked for.
        tolerance: The distance within which numbers in values are equal.
    """
    unmatched = list(right)
    missing: list[LiveResult] = []
    for result in left:
        place = _place_of(result, unmatched, tolerance)
        if place is None:
            missing.append(result)
        else:
            del unmatched[place]
    return missing


def _place_of(result: LiveResult, candidates: Sequence[LiveResult], tolerance: float) -> int | None:
    """Return the place of the first candidate that equals a result, its value within a tolerance; None without one."""
    without_value = result._replace(value=None)
    for place, candidate in enumerate(candidates):
        if candidate._replace(value=None) == without_value and equal(result.value, candidate.value, tolerance):
            return place
    return None


def _bar(label: str, result: LiveResult, tested: QueryUnderTest) -> Bar:
    """Return a result as a bar of the drawing, labelled with the run that it is of."""
    name = label if result.key is None else f"{label} {result.key!r}"
    value = repr(result.value) if result.is_evicted else spell_value(result.value, tested.query)
    if result.is_evicted:
        value += ", given by rows that left"
    if result.timing is Timing.EARLY:
        value += f", early, firing {result.firing}"
    return Bar(name, result.start, result.end, value)
