"""Time-bound results: what was put out is shortened, never taken back, so nothing waits for the end of a window.

At each tick of a window stands what the input says up to that tick, which is a function of the history of the input and
of nothing else. The same holds of rows with times of their own, if the module promises it: they are those of the
reference, if maybe in pieces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import pairwise
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, ClipPolicy, EmitPolicy, Event, OutputContract, TimestampPolicy, Window
from muntin.changes import Revision
from muntin.testing.batches import Batch
from muntin.testing.scripts import Script
from tests.differential.cases import WINDOWS, Case
from tests.differential.drive import Run, check
from tests.differential.meaning import Histories, Row
from tests.differential.test_inputs import insertions, samples, some_policies

FIXED_WINDOWS = ("tumbling", "one tick", "wide", "offset", "overlapping", "overlapping by much", "gaps")
"""Those that do not come and go with events, and have no members that ended before them."""

MOVING_WINDOWS = [name for name, window in WINDOWS.items() if window.ends_move]
"""Those whose extent is not known while they last; see below."""

EVERY_OTHER_WINDOW = pytest.mark.parametrize("window", [window for window in WINDOWS if window not in MOVING_WINDOWS])

Values = Counter[tuple[Window | None, Hashable]]

OWN_LIFETIMES = (
    "operator with own lifetimes",
    "time-sensitive incremental operator",
    "time-sensitive incremental operator that removes",
)


FIXED_VALUES = ("aggregate", "incremental aggregate", "incremental aggregate that removes", "operator")
"""Those whose value does not say which window they saw."""


def time_bound(window: str, shape: str, clip: ClipPolicy, *, is_edge: bool = False, has_ids: bool = True) -> Case:
    policies = (clip, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
    return Case(window, shape, *policies, is_edge=is_edge, has_ids=has_ids)


def a_fifth(window: str, turn: int) -> list[tuple[str, ClipPolicy]]:
    """Return some of the shapes with clips, others for each window and test: a stream costs tens of milliseconds."""
    return some_policies()[(list(WINDOWS).index(window) + turn) % 5 :: 5]


@EVERY_OTHER_WINDOW
def test_at_each_tick_stands_what_the_input_says_up_to_it(window: str) -> None:
    for shape, clip in a_fifth(window, 0):
        case = time_bound(window, shape, clip)
        check(case, case.stream, run_every_tick)


def test_so_it_does_where_an_event_is_retracted_for_an_alike_one_that_lasts_longer() -> None:
    stream = Script().insert("first", -17, -16, -8, key="b").batch()
    stream = stream.retract("first", key="b").insert("second", -17, -11, -8, key="b")
    for shape, clip in some_policies():
        check(time_bound("reach", shape, clip), stream, run_every_tick)


@EVERY_OTHER_WINDOW
def test_so_it_does_for_samples_which_end_with_the_next(window: str) -> None:
    for shape, clip in a_fifth(window, 1):
        case = time_bound(window, shape, clip, is_edge=True)
        check(case, samples(case.seed), run_every_tick)


@EVERY_OTHER_WINDOW
def test_so_it_does_where_ends_never_move(window: str) -> None:
    for shape, clip in a_fifth(window, 2):
        case = time_bound(window, shape, clip, has_ids=False)
        check(case, insertions(case), run_every_tick)


@pytest.mark.parametrize("shape", FIXED_VALUES)
@pytest.mark.parametrize("window", MOVING_WINDOWS)
def test_a_window_whose_end_moves_has_the_value_of_the_reference_at_every_tick(window: str, shape: str) -> None:
    for seed in range(20):
        case = time_bound(window, shape, ClipPolicy.NONE)
        check(case, case.another_stream(seed), run_every_tick_of_any_window)


@pytest.mark.parametrize("window", FIXED_WINDOWS)
@pytest.mark.parametrize("shape", OWN_LIFETIMES)
def test_rows_with_times_of_their_own_are_those_of_the_reference_at_every_tick(window: str, shape: str) -> None:
    for clip in (ClipPolicy.NONE, ClipPolicy.RIGHT):
        policies = (clip, TimestampPolicy.UNCHANGED, EmitPolicy.EAGER, OutputContract.TIME_BOUND)
        case = Case(window, shape, *policies)
        check(case, case.stream, run_every_tick)


def run_every_tick_of_any_window(case: Case, stream: Script) -> None:
    """Run a stream; what was put out for a window that was cut later stands for its first part."""
    run_every_tick(case, stream, has_windows=False)


def run_every_tick(case: Case, stream: Script, *, has_windows: bool = True) -> None:
    follow_every_tick(Run(case), stream, has_windows=has_windows)


def follow_every_tick(running: Run, stream: Script, *, has_windows: bool = True) -> None:
    """Run a stream in some way and compare at every tick after each batch."""
    for _ in batches_of(running, stream):
        wanted, got = running.expected(), running.table()
        for key in {*got, *wanted}:
            bags = [every_tick(table.get(key, Counter()), has_windows) for table in (got, wanted)]
            assert bags[0] == bags[1], f"key {key!r}: got {bags[0]}, wanted {bags[1]}"


def batches_of(running: Run, stream: Script) -> Iterable[Run]:
    """Run a stream; check after each batch that its output starts no earlier than its changes.

    Batches after which rows of an event are missing are passed over.
    """
    for batch in stream.batches():
        was_determined, before, horizon = running.is_determined, running.histories(), running.progress.horizon
        result = running.take(batch)
        assert result.watermark == running.progress.watermark
        if not running.is_determined:
            continue
        changed = [least_sync_time(before, running.histories()), *retracted(batch)]
        earliest = min(horizon, *changed) if was_determined else EARLIEST
        for _, changes in result.output:
            for change in changes:
                assert change.sync_time >= earliest, f"{change} starts before the batch's earliest change, {earliest}"
        yield running


def least_sync_time(before: Histories, after: Histories) -> int:
    """Return the earliest tick at which the input is another than before. A row may have waited for one that came now.

    Windows may also come into sight, past the horizon so far.
    """
    ticks = [INFINITY]
    for key in {*before, *after}:
        were, are = (Counter(events.get(key, ())) for events in (before, after))
        gone, come = (list(some.elements()) for some in (were - are, are - were))
        for event in (*gone, *come):
            alike = [[other.end for other in some if _alike(event, other)] for some in (gone, come)]
            is_revised = list(map(len, alike)) == [1, 1]
            ticks.append(min(min(ends) for ends in alike) if is_revised else event.start)
    return min(ticks)


def retracted(batch: Batch) -> list[int]:
    """Return the starts of the events that a batch retracts; alike ones that come for them are no revisions."""
    changes = [step.change for step in batch.changes]
    return [change.sync_time for change in changes if isinstance(change, Revision) and change.is_retraction]


def _alike(event: Event[Any], other: Event[Any]) -> bool:
    return (event.start, event.payload) == (other.start, other.payload)


def every_tick(rows: Counter[Row], has_windows: bool) -> dict[tuple[int, int], Values]:
    """Return the values that stand between each two neighbouring ticks at which the output of a window changes."""
    ticks = sorted({tick for _, start, end, _ in rows for tick in (start, end)})
    stands: dict[tuple[int, int], Values] = {}
    for first, last in pairwise(ticks):
        bag: Values = Counter()
        for (window, start, end, value), count in rows.items():
            if start <= first and last <= end:
                bag[window if has_windows else None, value] += count
        if bag:
            stands[first, last] = bag
    return merged(stands)


def merged(
    stands: dict[tuple[int, int], Values],
) -> dict[tuple[int, int], Values]:
    """Join neighbouring stretches in which the same stands."""
    joined: list[tuple[int, int, Values]] = []
    for (start, end), bag in sorted(stands.items(), key=lambda item: item[0]):
        if joined and joined[-1][1] == start and joined[-1][2] == bag:
            joined[-1] = (joined[-1][0], end, bag)
        else:
            joined.append((start, end, bag))
    return {(start, end): bag for start, end, bag in joined}
