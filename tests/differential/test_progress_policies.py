"""Every progress policy against the reference: nothing legal is late, and windows are those of the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from muntin import EmitPolicy, Lateness, LatePolicy
from muntin.changes import Insertion, Punctuation
from muntin.progress import ProgressPolicy, bounded_delay, bounded_disorder, ordered, punctuate_every
from muntin.testing.scripts import Script
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.core.progress.own_policies import Outvoted
from tests.differential.cases import WINDOWS, Case, policies, under_one_emission
from tests.differential.drive import by_key, check, follow
from tests.differential.modules import SHAPES
from tests.differential.progress import (
    CorrectingRun,
    DerivedRun,
    KeyRun,
    adjusted,
    derived,
    greatest_disorder,
    hasty,
    longest_delay,
)

EVERY_WINDOW = pytest.mark.parametrize("window", WINDOWS)
EVERY_EMISSION = pytest.mark.parametrize("emit", EmitPolicy)
SOURCES: tuple[list[str], ...] = (["north"], ["north", "south", "west"], [])


def cases(window: str, emit: EmitPolicy, every: int) -> list[Case]:
    """Return some of the cases of a window."""
    all_cases = [Case(window, shape, *both, emit) for shape in SHAPES for both in policies(shape)]
    return all_cases[:: every + 1]


def kept_policies(stream: Script, sources: Sequence[str]) -> list[ProgressPolicy]:
    """Return policies that a stream keeps, none of them by more than it must."""
    delay = longest_delay(stream, sources)
    return [
        bounded_delay(delay),
        bounded_disorder(greatest_disorder(stream, sources)),
        punctuate_every(rows=3, delay=delay),
        punctuate_every(span=5, delay=delay),
        Outvoted(delay, of=3),
    ]


@EVERY_EMISSION
@EVERY_WINDOW
def test_what_a_policy_derives_closes_the_windows_of_the_reference(window: str, emit: EmitPolicy) -> None:
    moved = 0
    half = list(EmitPolicy).index(emit) % 2  # of the policies; the other one is tried under another emission
    for place, case in enumerate(cases(window, emit, every=23)):
        sources = SOURCES[place % len(SOURCES)]
        in_order = case.another_stream(0, in_order=True)  # a policy knows of starts, not of changes that wait
        for policy in kept_policies(in_order, sources)[half::2]:
            stream = derived(in_order, policy, sources)
            moved += any(isinstance(step, Punctuation) for step in stream.steps)
            check(case, stream, partial(run_derived, policy, sources))
    assert moved > 5


def run_derived(policy: ProgressPolicy, sources: Sequence[str], case: Case, stream: Script) -> None:
    follow(DerivedRun(case, policy, sources), stream)


@EVERY_WINDOW
def test_an_ordered_input_is_complete_up_to_its_newest_start(window: str) -> None:
    for case in cases(window, EmitPolicy.FINAL, every=23):
        in_order = case.another_stream(0, in_order=True)  # each event once: an ordered input has no retractions
        insertions = [step for step in in_order.changes() if isinstance(step.change, Insertion)]
        by_start = sorted(insertions, key=lambda step: step.change.event.start)
        stream = derived(Script(tuple(by_start)).batch().close(), ordered(), [])
        follow(DerivedRun(case, ordered(), []), stream)


@EVERY_EMISSION
@EVERY_WINDOW
def test_keys_may_be_further_than_the_input(window: str, emit: EmitPolicy) -> None:
    for case in under_one_emission(cases(window, emit, every=17), window, emit):
        in_order = case.another_stream(0, in_order=True)  # a key's watermark is drawn from sync times alone
        check(case, in_order, lambda case, stream: follow(KeyRun(case, stream), stream))


@pytest.mark.parametrize("waits", [True, False])
@EVERY_WINDOW
def test_late_rows_correct_what_was_put_out(window: str, waits: bool) -> None:
    for case in cases(window, EmitPolicy.SPECULATIVE, every=5)[waits::2]:  # each either waits for the watermark or not
        check(case, case.stream, lambda case, stream: follow(CorrectingRun(case, waits=waits), stream))


@EVERY_EMISSION
@EVERY_WINDOW
def test_late_insertions_are_adjusted_to_the_punctuation(window: str, emit: EmitPolicy) -> None:
    count = 0
    for case in cases(window, emit, every=11):
        in_order = case.another_stream(0, in_order=True)  # each event is inserted once
        batches = list(hasty(in_order, case.seed).batches())
        query = replace(case.query, late=Lateness(LatePolicy.ADJUST))
        adjusting = Bucket(query, MemoryCells(), Codec(), {})
        plain = Bucket(case.query, MemoryCells(), Codec(), {})
        for raw, clipped in zip(batches, adjusted(batches), strict=True):
            arrived = progress_of(case.query.window, raw)
            got = adjusting.process(by_key(case, raw, Random(0)), arrived)
            wanted = plain.process(by_key(case, clipped, Random(0)), arrived)
            assert spelled(got) == spelled(wanted)
            assert not wanted.rejections
            assert len(got.rejections) == len(raw.changes) - len(clipped.changes)
            count += raw != clipped
    assert count


def spelled(result: BatchResult) -> Counter[str]:
    """Return the changes of the output, whatever their ids."""
    return Counter(repr((key, change._replace(id=0))) for key, changes in result.output for change in changes)


def test_a_script_may_be_given_the_watermark_of_a_policy() -> None:
    moved = 0
    for case in cases("tumbling", EmitPolicy.FINAL, every=3):
        in_order = case.another_stream(0, in_order=True)
        for policy in kept_policies(in_order, []):
            stream = in_order.with_progress(policy)
            assert stream.last_watermark() == derived(in_order, policy, []).last_watermark()
            assert list(stream.batches()) == list(derived(in_order, policy, []).batches())
            moved += any(isinstance(step, Punctuation) for step in stream.steps)
    assert moved > 5
