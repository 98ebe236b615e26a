"""Early results where keys punctuate themselves, and where late rows correct results or are adjusted.

Final results are those of the same query without a trigger, and no window is put out after its own. Each case has a
stream and a trigger of its own, and the bucket restarts before every batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, Axis, Lateness, LatePolicy, Refinement, correct
from muntin.testing.scripts import Script
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import Timing
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.state.bucket_state import KeyTimer
from tests.differential.calendars import SCALES
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import check, failure
from tests.differential.early import EarlyCase, put_out
from tests.differential.early_progress import Course, Way, run_on
from tests.differential.modules import SHAPES
from tests.differential.progress import hasty
from tests.differential.test_early import KEPT_SHAPES
from tests.differential.test_inputs import insertions, samples

CORRECTING = Course(correct(6))
ADJUSTING = Course(Lateness(LatePolicy.ADJUST))
BY_KEY = Course(has_promises=True)
CORRECTING_BY_KEY = Course(correct(6), has_promises=True)
ADJUSTING_BY_KEY = Course(Lateness(LatePolicy.ADJUST), has_promises=True)

EVERY_WINDOW = pytest.mark.parametrize("window", WINDOWS)


def cases(window: str, course: Course, every: int = 6) -> Iterator[tuple[EarlyCase, Script]]:
    """Yield queries with streams: every refinement that the window allows, over events with and without ids."""
    random = Random(f"{window} {course}")
    for number, shape in enumerate(KEPT_SHAPES[random.randrange(every) :: every]):
        both = random.choice(list(policies(shape)))
        for refinement in refinements(window):
            has_ids = refinement is not Refinement.DISCARD and random.random() < 0.6
            case = EarlyCase(Case(window, shape, *both, has_ids=has_ids), refinement, number)
            yield case, stream_of(case, course)


def refinements(window: str) -> list[Refinement]:
    return list(Refinement) if isinstance(WINDOWS[window], HoppingWindows) else [Refinement.RETRACT]


def stream_of(case: EarlyCase, course: Course) -> Script:
    if course.late.policy is LatePolicy.ADJUST:
        return hasty(case.stream, case.seed)
    return case.stream if case.case.has_ids else insertions(case)


@EVERY_WINDOW
def test_final_results_are_what_late_rows_have_made_of_results_without_a_trigger(window: str) -> None:
    for case, stream in cases(window, CORRECTING):
        check(case, stream, partial(run_on, CORRECTING))


@pytest.mark.parametrize("window", ["days", "days without midnight", "months"])
def test_late_rows_correct_the_results_of_a_calendar_until_its_windows_are_past(window: str) -> None:
    kind, _, scale = SCALES[window]
    course = Course(correct(6 * scale))
    assert kind.grid() is not None
    for number, shape in enumerate(["aggregate", "time-sensitive aggregate"]):
        case = EarlyCase(Case(window, shape, has_ids=False), Refinement.RETRACT, number)
        check(case, stream_of(case, course), partial(run_on, course))


@EVERY_WINDOW
def test_a_key_that_punctuates_itself_has_its_final_results_then(window: str) -> None:
    for case, stream in cases(window, BY_KEY):
        check(case, stream, partial(run_on, BY_KEY))


@EVERY_WINDOW
def test_keys_may_be_further_and_late_rows_of_theirs_correct_results(window: str) -> None:
    for case, stream in cases(window, CORRECTING_BY_KEY, every=8):
        check(case, stream, partial(run_on, CORRECTING_BY_KEY))


@EVERY_WINDOW
@pytest.mark.parametrize("course", [ADJUSTING, ADJUSTING_BY_KEY], ids=["whole input", "by key"])
def test_adjusted_insertions_have_early_results_from_where_they_start(window: str, course: Course) -> None:
    for case, stream in cases(window, course, every=8):
        check(case, stream, partial(run_on, course))


@EVERY_WINDOW
@pytest.mark.parametrize("course", [CORRECTING, BY_KEY], ids=["late samples", "by key"])
def test_samples_have_early_results_too(window: str, course: Course) -> None:
    shape = Random(window).choice([shape for shape in SHAPES if shape in KEPT_SHAPES])
    case = EarlyCase(Case(window, shape, is_edge=True), Refinement.RETRACT)
    check(case, samples(case.seed), partial(run_on, course))


def test_the_streams_have_early_results_behind_the_punctuation_and_keys_that_are_further() -> None:
    found: Counter[str] = Counter()
    for case, stream in cases("overlapping", CORRECTING_BY_KEY, every=3):
        way = Way(CORRECTING_BY_KEY, case, stream)
        for batch in stream.batches():
            hasty_to = CORRECTING_BY_KEY.hasty(way.progress.watermark)
            found["late"] += sum(step.change.sync_time < hasty_to for step in batch.changes)
            found["further"] += any(key_watermark > way.progress.watermark for key_watermark in way.new.values())
            way.take(batch, EARLIEST)
        found["early"] += sum(timing == Timing.EARLY for *_, timing, _ in put_out(case, stream))
    assert min(found[kind] for kind in ("late", "further", "early")) > 10, found


def takes_late_for_late(state: KeyState, watermark: int, *, axis: Axis, adjusts: bool) -> Admission:
    return Admission(state, watermark, axis=axis)


def never(*_: object) -> KeyTimer:
    return KeyTimer(INFINITY, INFINITY, EARLIEST)


FAULTS: dict[str, tuple[Course, str, Any]] = {
    "what a key says counts for nothing": (BY_KEY, "for_key", lambda progress, _promise: progress),
    "windows close while rows may correct them": (CORRECTING, "effective", lambda _query, progress: progress),
    "late insertions are set aside": (ADJUSTING, "Admission", takes_late_for_late),
    "a key is never looked at for its watermark": (
        CORRECTING_BY_KEY,
        "timer",
        lambda *_: KeyTimer(INFINITY, INFINITY, EARLIEST),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_evaluator_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    course, name, faulty = FAULTS[fault]
    folder = "general" if name == "timer" else "keyed"
    monkeypatch.setattr(f"muntin_engine.evaluators.{folder}.bucket.{name}", faulty)
    assert any(failure(case, stream, partial(run_on, course)) for case, stream in cases("overlapping", course))
