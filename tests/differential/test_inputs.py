"""Inputs that are not streams of named events: samples that last until the next, and events without ids."""

from __future__ import annotations

from random import Random
from typing import Protocol

import pytest

from muntin import INFINITY, ClipPolicy, EmitPolicy, Event, TimestampPolicy
from muntin.changes import Insertion, Punctuation
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin.testing.streams import shuffle, split
from tests.differential.cases import WINDOWS, Case, policies, under_one_emission, until_closed
from tests.differential.drive import check, run
from tests.differential.modules import OWN_TIMES, SHAPES

EVERY_EMISSION = pytest.mark.parametrize("emit", EmitPolicy)


@EVERY_EMISSION
@pytest.mark.parametrize("window", WINDOWS)
def test_a_sample_lasts_until_the_next_in_whatever_order_they_come(window: str, emit: EmitPolicy) -> None:
    for shape, clip in under_one_emission(some_policies(), window, emit):
        case = Case(window, shape, clip, own_times(shape), emit, is_edge=True)
        check(case, samples(case.seed), run)


@EVERY_EMISSION
@pytest.mark.parametrize("window", WINDOWS)
def test_events_without_ids_cannot_be_revised_so_no_window_waits_for_their_ends(window: str, emit: EmitPolicy) -> None:
    for shape, clip in under_one_emission(some_policies(), window, emit):
        case = Case(window, shape, clip, own_times(shape), emit, has_ids=False)
        check(case, insertions(case), run)


class Streaming(Protocol):
    """A case with a stream of its own."""

    @property
    def stream(self) -> Script: ...


def some_policies() -> list[tuple[str, ClipPolicy]]:
    """Every shape under every clip it can tell apart."""
    pairs = {(shape, clip) for shape in SHAPES for clip, _ in policies(shape) if shape != "operator that looks back"}
    return sorted(pairs)


def own_times(shape: str) -> TimestampPolicy:
    return TimestampPolicy.UNCHANGED if shape in OWN_TIMES else TimestampPolicy.ALIGN


def insertions(case: Streaming) -> Script:
    """Return a random stream without its revisions."""
    steps = case.stream.steps
    kept = [s for s in steps if not isinstance(s, KeyedChange) or isinstance(s.change, Insertion)]
    return Script(tuple(kept))


def samples(seed: int) -> Script:
    """Return a random stream of samples, no two of a key at the same time, delivered out of order."""
    random = Random(seed)
    steps: list[Step] = []
    times = {key: random.sample(range(-20, 30), random.randint(1, 7)) for key in ("a", "b")}
    arriving = sorted((at + random.randint(0, 9), at, key) for key, all_of_key in times.items() for at in all_of_key)
    for place, (_, at, key) in enumerate(arriving):
        steps.append(KeyedChange(key, Insertion(place, Event(at, INFINITY, random.randint(-9, 9)))))
        if random.random() < 0.3:
            coming = [later for _, later, _ in arriving[place + 1 :]]
            steps.append(Punctuation(min([*coming, 40])))
    if random.random() < 0.7:
        steps.append(Punctuation(INFINITY))
    return split(until_closed(shuffle(Script(tuple(rising(steps))), seed)), seed)


def rising(steps: list[Step]) -> list[Step]:
    """Leave out watermark that says nothing new."""
    kept: list[Step] = []
    latest: int | None = None
    for step in steps:
        if isinstance(step, Punctuation):
            if latest is not None and step.time <= latest:
                continue
            latest = step.time
        kept.append(step)
    return kept
