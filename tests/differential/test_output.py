"""The evaluator says what the reference says, for every window, policy and shape, on random streams.

Each combination of window, shape and policies is tried under one emission, and has a stream of its own: several keys;
points, intervals and open events; revisions that shorten, prolong, reopen and delete, some before their event; ties;
negative times; punctuation; closed and not closed. It arrives in any legal order, cut into micro-batches anywhere, with
restarts between some. A failure prints the smallest stream that fails.
"""

from __future__ import annotations

import pytest

from muntin import ClipPolicy, EmitPolicy, OutputContract, TimestampPolicy
from muntin.testing.scripts import Script
from muntin.testing.streams import random_stream, split
from tests.differential.cases import WINDOWS, Case, under_one_emission, until_closed
from tests.differential.drive import check, run
from tests.differential.kinds import cases_of

EVERY_WINDOW = pytest.mark.parametrize("window", WINDOWS)
EVERY_EMISSION = pytest.mark.parametrize("emit", EmitPolicy)


@EVERY_EMISSION
@EVERY_WINDOW
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = cases_of(window, emit)
    assert len(cases) > 100
    for case in under_one_emission(cases, window, emit):
        check(case, case.stream, run)


@EVERY_EMISSION
@pytest.mark.parametrize("count", [1, 2, 3])
def test_windows_over_starts_close_in_any_order(count: int, emit: EmitPolicy) -> None:
    """Longer streams, with enough starts between those that wait for events are forgotten there."""
    shape = "time-sensitive incremental aggregate that removes"
    for seed in range(3):
        case = Case(f"count by start {count}", shape, emit=emit)
        stream = random_stream(seed, keys=("a",), events=40, starts=range(120), disorder=3, punctuation=0.6)
        check(case, split(until_closed(stream), seed, cuts=0.5), run)


@EVERY_EMISSION
def test_an_event_between_two_windows_is_not_waited_for(emit: EmitPolicy) -> None:
    """Windows open at 0 and 7. The event that starts at 4 is in neither, and ends at 30, or later.

    The window at 7 is closed at 21; it does not hold the output watermark back.
    """
    stream = Script().insert(1, 0, 3).insert(2, 4, 30).insert(3, 5, 6).insert(4, 7, 16)
    for shape in ("aggregate", "time-sensitive incremental aggregate that removes"):
        case = Case("every third start", shape, emit=emit)
        check(case, stream.punctuate(21).batch().revise(2, 40).punctuate(41), run)


@EVERY_EMISSION
@EVERY_WINDOW
def test_without_a_contract_output_may_lie_before_its_window_and_is_never_final(window: str, emit: EmitPolicy) -> None:
    for clip in ClipPolicy:
        shape, contract = "operator that looks back", OutputContract.UNRESTRICTED
        case = Case(window, shape, clip, TimestampPolicy.UNCHANGED, emit, contract)
        check(case, case.stream, run)


@EVERY_EMISSION
@EVERY_WINDOW
def test_without_a_contract_output_that_is_cut_to_its_window_is_as_final_as_any(window: str, emit: EmitPolicy) -> None:
    for clip in ClipPolicy:
        shape, contract = "operator that looks back", OutputContract.UNRESTRICTED
        case = Case(window, shape, clip, TimestampPolicy.CLIP, emit, contract)
        check(case, case.stream, run)
