"""Keys that are forgotten: the output is that of lives which are evaluated each by itself, whatever the batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, EarlyEmission, EmitPolicy, Refinement, global_windows
from muntin.testing import smallest_failing
from muntin.testing.scripts import Script
from muntin.triggers import every_count
from muntin_engine.core.changes import OutputChange, OutputKind, Progress, Timing
from muntin_engine.evaluators.general.assignment.cut import CutAssigner
from muntin_engine.evaluators.general.bucket import GeneralRun
from muntin_engine.evaluators.general.lives import dividing
from muntin_engine.evaluators.general.lives.dividing import Division, LifeChanges
from muntin_engine.evaluators.general.lives.run import LivesBucket, LivesRun
from muntin_engine.evaluators.general.lives.state import LifeState
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.core.build import output, query, row
from tests.differential.calendars import CALENDARS
from tests.differential.cases import GROWING, RANKED, TRAILING, WINDOWS, policies
from tests.differential.drive import check, failure
from tests.differential.early import EarlyCase, Engine, finals, tell
from tests.differential.lives import AGES, OWN, LivesCase, LivesOnTheirWay, run
from tests.differential.modules import SHAPES
from tests.differential.test_inputs import insertions
from tests.differential.test_restarts import outcome

KINDS = {**WINDOWS, **GROWING, **TRAILING, **RANKED, **OWN}
EVERY_KIND = pytest.mark.parametrize("window", KINDS)
DAY = 86_400


def cases_of(window: str, emit: EmitPolicy, count: int, **changed: Any) -> list[LivesCase]:
    """Return some queries with a kind of windows, each with one of the ages."""
    shapes = [(shape, *both) for shape in SHAPES if shape != "operator that looks back" for both in policies(shape)]
    chosen = Random(f"{window} {emit} lives").sample(shapes, count)
    scale = DAY if window in CALENDARS else 1
    return [
        LivesCase(window, *some, emit, age=AGES[place % len(AGES)] * scale, **changed)
        for place, some in enumerate(chosen)
    ]


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_KIND
def test_the_output_is_that_of_the_lives_after_every_batch(window: str, emit: EmitPolicy) -> None:
    for case in cases_of(window, emit, 3):
        check(case, case.stream, run)


@pytest.mark.parametrize("window", CALENDARS)
def test_windows_of_a_calendar_are_cut_too(window: str) -> None:
    (case,) = cases_of(window, list(EmitPolicy)[list(CALENDARS).index(window) % 3], 1)
    check(case, case.stream, run)


@EVERY_KIND
def test_events_without_ids_have_lives(window: str) -> None:
    for emit in EmitPolicy:
        for case in cases_of(window, emit, 1, has_ids=False):
            check(case, insertions(case), run)


@EVERY_KIND
def test_events_that_a_filter_leaves_out_are_of_no_life(window: str) -> None:
    for emit in EmitPolicy:
        for case in cases_of(window, emit, 1, is_filtered=True):
            check(case, case.stream, run)


@EVERY_KIND
def test_a_restart_between_any_two_batches_changes_neither_output_nor_state(window: str) -> None:
    for emit in EmitPolicy:
        (case,) = cases_of(window, emit, 1)
        kept = outcome(case, case.stream, restarts=False, kind=LivesOnTheirWay)
        assert kept == outcome(case, case.stream, restarts=True, kind=LivesOnTheirWay)


def test_the_streams_join_lives_and_split_them() -> None:
    """Check that what the other tests draw is there to be seen."""
    seen = Counter[str]()
    plain = Division.__init__

    def watched(self: Division, key: Any, net: Any, *, has_triggers: bool) -> None:
        before = len(key.lives)
        plain(self, key, net, has_triggers=has_triggers)
        seen["joined"] += any(one.is_absorbed and one.life.span for one in self.changes)
        seen["split"] += before > 0 and any(one.touched and not one.is_absorbed for one in self.changes)
        seen["several"] += len(key.lives) > 1
        seen["handed over"] += any(one.replaced for one in self.changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Division, "__init__", watched)
        for case in cases_of("landmark", EmitPolicy.EAGER, 8) + cases_of("tumbling", EmitPolicy.EAGER, 8):
            running = LivesOnTheirWay(case)
            for batch in case.stream.batches():
                running.take(batch)
            seen["forgotten"] += running.forgotten
    assert min(seen[name] for name in ("joined", "split", "several", "handed over", "forgotten")) >= 5, seen


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "windows are not cut": (CutAssigner, "_cut", lambda _self, windows: list(windows)),
    "windows are cut a tick early": (
        LifeState,
        "over_at",
        property(lambda self: INFINITY if self.span.end == INFINITY else self.span.end + self._age - 1),
    ),
    "lives are told apart a tick early": (
        dividing,
        "_grouped",
        lambda pieces, age, grouped=dividing._grouped: grouped(pieces, age - 1),
    ),
    "lives are told apart a tick late": (
        dividing,
        "_grouped",
        lambda pieces, age, grouped=dividing._grouped: grouped(pieces, age + 1),
    ),
    "what was forgotten does not count": (LifeState, "forgot", lambda *_: None),
    "nothing is handed over": (Division, "_hand_over", lambda *_: None),
    "where windows are cut is not looked at again": (
        LifeChanges,
        "recut",
        property(lambda _self: None, lambda _self, _value: None),
    ),
    "nobody waits for the end of a life": (LivesRun, "timer_of", GeneralRun.timer_of),
}


SETTLED = (
    Script().point("first", 0, 1, key="a").punctuate(3).batch().point("second", 5, 2, key="a").batch()
    .retract("second").batch()
    .point("third", 6, 3, key="a").point("fourth", 7, 4, key="a").point("fifth", 8, 5, key="a").close()
)  # fmt: skip
"""The second event is deleted when the first is settled; the others are of the life of the first, and so have ranks."""


def test_a_life_goes_on_when_all_that_is_left_of_it_is_settled() -> None:
    for emit in EmitPolicy:
        run(LivesCase("every third start", "aggregate", emit=emit), SETTLED)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = ("landmark", "even starts", "counts that overlap", "tumbling")
    cases = [case for window in windows for emit in EmitPolicy for case in cases_of(window, emit, 6)]
    streams = [(case, case.another_stream(number)) for number in range(8) for case in cases]
    streams.insert(len(cases), (LivesCase("every third start", "aggregate"), SETTLED))
    assert not any(failure(case, stream, run) for case, stream in streams[::50])
    name, attribute, replacement = FAULTS[fault]
    monkeypatch.setattr(name, attribute, replacement, raising=False)
    case, stream = next((case, stream) for case, stream in streams if failure(case, stream, run))
    small = smallest_failing(stream, lambda candidate: failure(case, candidate, run) is not None)
    assert len(small.changes()) <= 6


@EVERY_KIND
def test_early_results_end_as_the_final_ones(window: str) -> None:
    for number, case in enumerate(cases_of(window, EmitPolicy.FINAL, 2)):
        early = EarlyCase(case, Refinement.RETRACT, number)
        check(early, early.stream, run_to_the_end)


def run_to_the_end(case: EarlyCase, stream: Script) -> None:
    """Run a stream and compare what is final in each batch with `emit="final"`, and what is live in the end."""
    random = Random(case.seed)
    engine, final = Engine(case, case.query), Engine(case, case.case.query)
    before = Progress()
    for batch in stream.batches():
        told = tell(random, before)
        arrived = replace(progress_of(case.query.window, batch), clock=told.clock)
        before = before.advance(arrived)
        came = engine.take(batch, arrived, told.signals)
        assert finals(came) == finals(final.take(batch, arrived))
    if before.watermark == INFINITY:
        assert finals(engine.standing()) == finals(final.standing())
        assert all(line[5] == Timing.FINAL for line in engine.standing())


def test_a_trigger_goes_on_where_a_window_is_cut_elsewhere() -> None:
    counting = replace(
        query(global_windows(), forget_keys_after=10, has_ids=False),
        emit=EarlyEmission(every_count(2), Refinement.RETRACT),
    )
    cells, spelled = MemoryCells(), list[list[str]]()
    for at, watermark in ((0, EARLIEST), (4, EARLIEST), (8, EARLIEST), (12, EARLIEST), (40, 23), (41, 51)):
        bucket = LivesBucket(counting, cells, Codec(), {})
        result = bucket.process([(("a",), [row(None, at, at + 1, at)])], Progress(watermark, at + 1, at))
        spelled.append([f"{mark_of(change)}{change.window.end} {change.value[0]}" for change in output(result)])
    assert spelled == [
        [],
        ["+15 (0, 4)"],
        ["-15 (0, 4)"],
        ["+23 (0, 4, 8, 12)"],
        ["-23 (0, 4, 8, 12)", "+23 (0, 4, 8, 12)"],
        ["+52 (40, 41)"],
    ]


def mark_of(change: OutputChange) -> str:
    return "+" if change.kind is OutputKind.INSERT else "-"
