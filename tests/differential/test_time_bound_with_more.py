"""Time-bound results together with a filter, with late rows that correct them, and with keys that punctuate themselves.

At each tick stands what the reference says, as it does without them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from muntin import ClipPolicy
from muntin.testing.scripts import Script
from muntin_engine.evaluators.keyed.admission import Filter
from tests.differential.cases import Case
from tests.differential.drive import Run, check, failure
from tests.differential.progress import CorrectingRun, KeyRun
from tests.differential.test_filtering import FilteredCase, FilteredRun
from tests.differential.test_inputs import samples
from tests.differential.test_time_bound import (
    EVERY_OTHER_WINDOW,
    FIXED_VALUES,
    MOVING_WINDOWS,
    a_fifth,
    follow_every_tick,
    time_bound,
)


def some(window: str, turn: int, *, count: int = 2) -> list[tuple[str, ClipPolicy]]:
    """Return a few shapes with clips."""
    found = a_fifth(window, turn)
    return Random(f"{window} {turn}").sample(found, min(count, len(found)))


def filtered(case: Case) -> Case:
    policies = (case.clip, case.timestamps, case.emit)
    return FilteredCase(case.window, case.shape, *policies, is_edge=case.is_edge, has_ids=case.has_ids)


def following(start: Callable[[Case, Script], Run], *, has_windows: bool = True) -> Callable[[Case, Script], None]:
    def run(case: Case, stream: Script) -> None:
        follow_every_tick(start(case, stream), stream, has_windows=has_windows)

    return run


run_filtered = following(lambda case, _: FilteredRun(case))
run_correcting = following(lambda case, _: CorrectingRun(case, waits=False))
run_by_key = following(KeyRun)


@EVERY_OTHER_WINDOW
def test_at_each_tick_stands_what_the_events_that_are_kept_say(window: str) -> None:
    for shape, clip in some(window, 3):
        case = filtered(time_bound(window, shape, clip))
        check(case, case.stream, run_filtered)
        case = filtered(time_bound(window, shape, clip, is_edge=True))
        check(case, samples(case.seed), run_filtered)


@EVERY_OTHER_WINDOW
def test_at_each_tick_stands_what_late_rows_correct_too(window: str) -> None:
    for shape, clip in some(window, 4):
        case = time_bound(window, shape, clip)
        check(case, case.stream, run_correcting)


@EVERY_OTHER_WINDOW
def test_at_each_tick_stands_what_keys_say_that_are_further_than_the_input(window: str) -> None:
    for shape, clip in some(window, 0):
        case = time_bound(window, shape, clip)
        check(case, case.another_stream(0, in_order=True), run_by_key)


@pytest.mark.parametrize(
    "start",
    [lambda case, _: FilteredRun(filtered(case)), lambda case, _: CorrectingRun(case, waits=False), KeyRun],
    ids=["filter", "late rows", "keys"],
)
@pytest.mark.parametrize("window", MOVING_WINDOWS)
def test_so_it_does_for_windows_whose_ends_move(window: str, start: Callable[[Case, Script], Run]) -> None:
    for shape in FIXED_VALUES:
        for seed in range(3):
            case = time_bound(window, shape, ClipPolicy.NONE)
            stream = case.another_stream(seed, in_order=start is KeyRun)
            check(case, stream, following(start, has_windows=False))


def test_a_fault_in_the_filter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "leave_out", lambda *_: None)
    case = filtered(time_bound("tumbling", "aggregate", ClipPolicy.NONE))
    assert failure(case, case.stream, run_filtered)


def test_a_fault_in_what_is_known_of_a_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyRun, "_now", lambda run, _: run.progress)
    case = time_bound("tumbling", "aggregate", ClipPolicy.NONE)
    assert any(failure(case, case.another_stream(seed, in_order=True), run_by_key) for seed in range(10))
