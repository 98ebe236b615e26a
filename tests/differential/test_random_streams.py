"""The evaluator says what the reference says, on random streams, for every window, policy and shape."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from muntin import INFINITY, ClipPolicy, EmitPolicy, Punctuation, TimestampPolicy
from muntin.testing.scripts import Script
from muntin.testing.streams import random_stream, shuffle, split
from tests.differential.cases import WINDOWS, Case
from tests.differential.drive import run
from tests.differential.modules import SHAPES
from tests.differential.shrink import smallest_failing


def stream_for(case: Case) -> Script:
    seed = case.seed
    starts = range(-20, seed % 41)
    stream = random_stream(seed, keys=("a", "b", None), events=3 + seed % 13, starts=starts, disorder=seed % 24)
    shuffled = shuffle(until_closed(stream), seed, early_revisions=bool(seed % 3))
    return split(until_closed(shuffled), seed, cuts=(0.1, 0.3, 0.9)[seed % 3])


def until_closed(stream: Script) -> Script:
    """Leave out what comes after the end of the stream: revisions of an open event that leave it open."""
    place = next((i for i, step in enumerate(stream.steps, 1) if step == Punctuation(INFINITY)), None)
    return replace(stream, steps=stream.steps[:place])


def fails(case: Case, stream: Script) -> bool:
    try:
        run(case, stream)
    except Exception:
        return True
    return False


def check(case: Case) -> None:
    stream = stream_for(case)
    if fails(case, stream):
        small = smallest_failing(stream, lambda candidate: fails(case, candidate))
        print(f"\n{case}\nseed {case.seed}; the smallest stream that fails:\n{small}")
        run(case, small)
        pytest.fail("it fails only now and then")


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", WINDOWS)
def test_output_equals_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    for shape, clip, timestamps in product(SHAPES, ClipPolicy, TimestampPolicy):
        check(Case(window, shape, clip, timestamps, emit))
