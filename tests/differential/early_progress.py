"""Early emission where keys punctuate themselves, and where late rows correct results or are adjusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from muntin import EARLIEST, INFINITY, EmitPolicy, Event, Lateness, LatePolicy, Refinement, Window
from muntin.testing import reference
from muntin.testing.batches import Batch
from muntin.testing.scripts import Script
from muntin.windows import CalendarWindows, HoppingWindows, WindowKind
from muntin_engine.core.changes import Progress, Timing
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.testing.meaning import progress_of
from tests.differential.early import EarlyCase, Engine, Line, Meaning, Reached, finals, tell
from tests.differential.progress import key_watermarks, moved

DAY = 86_400


@dataclass(frozen=True)
class Course:
    """How the watermark of an input comes, and what becomes of the rows behind it.

    Attributes:
        late: What becomes of them. Where they correct results, the input's watermark is hasty by what is allowed.
        has_promises: True if keys punctuate themselves.
    """

    late: Lateness = Lateness()  # noqa: RUF009  # it is frozen
    has_promises: bool = False

    def hasty(self, watermark: int) -> int:
        """Return what an input says that is complete up to a watermark."""
        return watermark if watermark in (EARLIEST, INFINITY) else watermark + self.late.allowed

    def query(self, case: EarlyCase) -> EvaluatorQuery:
        """Return the query with early results."""
        return replace(case.query, late=self.late)

    def corrected(self, case: EarlyCase) -> EvaluatorQuery:
        """Return the query without a trigger, whose results are corrected."""
        return replace(case.case.query, emit=EmitPolicy.SPECULATIVE, late=self.late, waits_for_watermark=True)

    def counted(self, query: EvaluatorQuery, watermark: int) -> int:
        """Return where windows have closed: on a grid of late rows that correct, an end of a window."""
        is_step = self.late.corrects and not query.event_ends_move
        return last_end(query.window, watermark) if is_step else watermark


def last_end(window: WindowKind, watermark: int) -> int:
    """Return the last end of a window that a watermark has reached, if events are members of what they overlap."""
    if watermark in (EARLIEST, INFINITY) or window.reach:
        return watermark
    if isinstance(window, CalendarWindows):
        longest = (window.size + window.hop) * (1 if window.unit == "day" else 31) * DAY
        known = reference.windows(window, [Event(watermark - 2 * longest, watermark + 1, None)], watermark + 1)
        return max(cut.end for cut in known if cut.end <= watermark)
    if not isinstance(window, HoppingWindows):
        return watermark
    first = window.offset + window.size
    return next(at for at in range(watermark, watermark - window.hop, -1) if (at - first) % window.hop == 0)


class Way:
    """How far the keys of an input are, batch by batch."""

    def __init__(self, course: Course, case: EarlyCase, stream: Script) -> None:
        self.progress = Progress()
        self.new: Mapping[Hashable, int] = {}
        self._course = course
        self._query = case.query
        self._promised: dict[Hashable, Progress] = {}
        self._promises = list(key_watermarks(Random(case.seed), list(stream.batches())))

    def take(self, batch: Batch, clock: int) -> Progress:
        """Take a batch in, and what keys say with it; return what it says of the whole input."""
        said = replace(progress_of(self._query.window, batch), clock=clock)
        new = self._promises.pop(0) if self._course.has_promises else {}
        self.new = {key: self._course.counted(self._query, key_watermark) for key, key_watermark in new.items()}
        for key, key_watermark in self.new.items():
            own = Progress(key_watermark, newest=self._course.hasty(key_watermark))
            self._promised[key] = self._promised.get(key, Progress()).advance(own)
        seen = [self._course.hasty(time) for time in (said.watermark, *new.values())]
        horizon = max([said.horizon, *(time for time in seen if time != INFINITY)])
        counted = replace(said, watermark=self._course.counted(self._query, said.watermark), horizon=horizon)
        # What may still be corrected is in sight by the max event time, which the hasty watermark moves on (SI-63).
        newest = max(said.newest, self._course.hasty(said.watermark))
        self.progress = self.progress.advance(replace(counted, newest=newest))
        return counted

    def reached(self) -> Reached:
        """Return how far the keys are now."""
        progress, promised = self.progress, dict(self._promised)
        return lambda key: progress.advance(promised.get(key, Progress()))


def run_on(course: Course, case: EarlyCase, stream: Script) -> None:
    """Run a stream and compare after each batch: with what is meant, and with the same query without a trigger.

    Raises:
        AssertionError: They differ.
    """
    meaning, random, way = Meaning(case), Random(case.seed), Way(course, case, stream)
    engine, final = Engine(case, course.query(case)), Engine(case, case.case.query)
    corrected = Engine(case, course.corrected(case)) if course.late.corrects else None
    closed: Counter[Any] = Counter()
    for batch in stream.batches():
        told, before = tell(random, way.progress), way.reached()
        taken = batch if course.late.policy is not LatePolicy.ADJUST else adjusted(batch, before)
        arrived = way.take(batch, told.clock)
        hasty = replace(arrived, watermark=course.hasty(progress_of(case.query.window, batch).watermark))
        key_watermarks = {key: course.hasty(key_watermark) for key, key_watermark in way.new.items()}
        came = engine.take(
            batch, hasty, told.signals, key_watermarks=key_watermarks, refused=len(batch.changes) - len(taken.changes)
        )
        wanted = meaning.take(taken, before, way.reached(), told)
        assert came == wanted, f"missing {wanted - came}\nsurplus {came - wanted}"
        assert not windows_of(came) & windows_of(closed), "a window was put out after its final result"
        closed += Counter({line: count for line, count in came.items() if line[5] == Timing.FINAL})
        is_complete = way.progress.watermark == INFINITY
        if case.refinement is Refinement.RETRACT:
            meant = {line: count for lines in meaning.standing.values() for line, count in lines.items()}
            assert engine.standing() == meant
            assert not is_complete or engine.standing() == closed
        without = final.take(taken, arrived, key_watermarks=way.new)
        assert engine.promised == final.promised
        if case.refinement is not Refinement.DISCARD:
            assert finals(came) == finals(without)
        if corrected is not None:
            corrected.take(batch, hasty, key_watermarks=key_watermarks)
            if case.refinement is not Refinement.DISCARD:
                check_corrected(corrected.standing(), closed, is_complete=is_complete)


def check_corrected(standing: Counter[Line], closed: Counter[Line], *, is_complete: bool) -> None:
    """Check that final results are what results without a trigger are once nothing corrects them any more."""
    windows = windows_of(closed)
    settled = Counter({line: count for line, count in standing.items() if is_complete or line[:2] in windows})
    assert finals(settled) == finals(closed)


def adjusted(batch: Batch, reached: Reached) -> Batch:
    """Return a batch whose late insertions start where their key is, if they end after that."""
    changes = [moved(step, reached(step.key).watermark) for step in batch.changes]
    return replace(batch, changes=tuple(step for step in changes if step is not None))


def windows_of(lines: Counter[Line]) -> set[tuple[Hashable, Window]]:
    return {line[:2] for line in lines}
