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
from muntin_engine.testing.following import LiveResult, Mishap
from muntin_engine.testing.query_under_test import QueryUnderTest
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
        evaluator: What evaluated it.
        mishap: What happened.
        place: The step after which the output is another, or which raised.
        wanted: The output that is live then without the mishap, and not with it; without one, the reference's.
        got: The output that is live instead.
        error: What was raised, if anything.
        breaks_contract: True if the output differs only because a module promises to be time-bound and is not.
        only_after: The one step after which it need happen; None if it must happen several times.
    """

    tested: QueryUnderTest
    evaluator: str
    mishap: Mishap
    place: int
    wanted: Sequence[LiveResult] = ()
    got: Sequence[LiveResult] = ()
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
        """The facts of the difference."""
        emit = "early results" if isinstance(self.tested.emit, EarlyEmission) else f"{self.tested.emit} results"
        what = f"{emit} of {self.tested.query.window}, evaluator {self.evaluator}, {self._when}:"
        if self.error is not None:
            return f"{what}\nstep {self.place + 1} raised {type(self.error).__name__}: {self.error}"
        return f"{what}\nafter step {self.place + 1} the output is another"

    @property
    def drawing(self) -> str:
        """The stream, with the mishap, and the lines of the output that differ."""
        one, other = _LABELS[self.mishap]
        bars = [_bar(one, line, self.tested) for line in self.wanted]
        bars += [_bar(other, line, self.tested) for line in self.got]
        return timeline([*map(row_of, self._steps()), *[""] * bool(bars), *bars])

    @property
    def _when(self) -> str:
        if self.mishap in (Mishap.NOTHING, Mishap.SECOND_RUN):
            return "without any restart"
        if self.mishap is Mishap.RESTART:
            return "with a restart after " + ("each step" if self.only_after is None else f"step {self.only_after + 1}")
        again = "each step" if self.only_after is None else f"step {self.only_after + 1}"
        return f"with {again} run again, as after a crash before its state was kept"

    def _steps(self) -> Iterator[Step]:
        steps = [step for step in self.tested.script.steps if not isinstance(step, Boundary)]
        for place, step in enumerate(steps[: self.place + 1]):
            yield step
            if self.mishap is Mishap.RESTART and self.only_after in (None, place) and place < self.place:
                yield Boundary.RESTART


def bag_difference(left: Sequence[LiveResult], right: Sequence[LiveResult], tolerance: float) -> list[LiveResult]:
    """Return the lines on the left that are not on the right; values are compared within a tolerance."""
    rest, missing = list(right), list[LiveResult]()
    for line in left:
        place = next((place for place, other in enumerate(rest) if _is_same(line, other, tolerance)), None)
        if place is None:
            missing.append(line)
        else:
            del rest[place]
    return missing


def _is_same(line: LiveResult, other: LiveResult, tolerance: float) -> bool:
    return line._replace(value=None) == other._replace(value=None) and equal(line.value, other.value, tolerance)


def _bar(label: str, line: LiveResult, tested: QueryUnderTest) -> Bar:
    name = label if line.key is None else f"{label} {line.key!r}"
    early = f", early, firing {line.firing}" if line.timing is Timing.EARLY else ""
    value = repr(line.value) if line.is_evicted else spell_value(line.value, tested.query)
    return Bar(name, line.start, line.end, f"{value}{', given by rows that left' * line.is_evicted}{early}")
