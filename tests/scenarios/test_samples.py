"""Samples of one time: the last by order holds, however they come and wherever micro-batches are cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Final

import pytest

from muntin import INFINITY, EmitPolicy, JoinKind, count_by_start, hopping, session, snapshot, tumbling
from muntin.changes import Insertion
from muntin.events import Event
from muntin.testing import Batch, KeyedChange
from tests.modules.merged_states import ANY
from tests.scenarios.join import Join
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.random_policies import random_clip
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import scenario_of, stream_of

WINDOWS: Final = (tumbling(8), hopping(13, 2, -5), tumbling(6, reach=5), snapshot(), session(4), count_by_start(2))
SHAPES: Final = ("aggregate", "incremental aggregate that removes", "operator")
SEEDS: Final = 24


@pytest.mark.cases(8)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_evaluator_says_what_the_last_samples_say(seed: int) -> None:
    """Many samples start together, and some of them have equal values, or are left out by a filter."""
    random = Random(seed)
    modules = ANY[random.choice(SHAPES)]
    query = Query(
        random.choice(WINDOWS),
        modules,
        random_clip(random, modules),
        emit=random.choice(list(EmitPolicy)),
        lifetimes="samples",
        is_filtered=random.random() < 0.5,
        has_order=random.random() < 0.5,
    )
    scenario = scenario_of(random, query, nulls=0.2)
    narrow_stream = stream_of(random, query, nulls=0.2, is_narrow=True)
    in_small_batches = replace(scenario.mishaps, seed=seed + 1, cuts=0.9, illegal=0.0)
    for mishaps in (scenario.mishaps, in_small_batches):
        assert "general" in Scenario(query, scenario.streams, mishaps).run()
        assert "general" in Scenario(query, narrow_stream, mishaps).run()


@pytest.mark.cases(8)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_join_waits_until_no_other_sample_can_come(seed: int) -> None:
    """A row with a sample is final when the watermark has passed its time, and not before."""
    random = Random(seed)
    pairs: list[tuple[Lifetimes, Lifetimes]] = [("samples", "samples"), ("points", "samples"), ("samples", "points")]
    lifetimes = random.choice(pairs)
    kind = random.choice(list(JoinKind))
    join = Join(kind, lifetimes, is_eager=random.random() < 0.5, is_filtered=random.random() < 0.3)
    left, right = (stream_of(random, side, is_narrow=True) for side in join.sides)
    scenario = Scenario(join, (left, right), Mishaps(seed, disorder=False, cuts=random.choice((0.1, 0.5))))
    assert len(scenario.run()) > 0, "no evaluator runs the join"


def samples_at_two(*payloads: int | None) -> list[KeyedChange]:
    """Return samples of one key at the time 2."""
    samples: list[KeyedChange] = []
    for number, payload in enumerate(payloads):
        samples.append(KeyedChange("a", Insertion(number, Event(2, INFINITY, payload))))
    return samples


def run_of(query: Query, *batches: list[KeyedChange]) -> Run:
    """Run micro-batches, and then one that closes the stream."""
    run = Run(query, query.plan(), Mishaps(crashes=0.0))
    for changes in batches:
        run.process(Arrival((Batch(tuple(changes)),)))
    run.process(Arrival((Batch((), INFINITY),)))
    return run


@pytest.mark.cases(30)
@pytest.mark.parametrize("has_order", [True, False])
@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
@pytest.mark.parametrize("payloads", [(9, 10, -3), (10, 9, -3), (-3, 10, 9), (None, 9, 10), (10, 10, 9)])
def test_the_last_sample_of_a_time_holds_and_the_others_are_replaced(
    payloads: tuple[int | None, ...], cuts: tuple[int, ...], emit: EmitPolicy, has_order: bool
) -> None:
    """The last one is 10, by order and by value; as text, 9 would come after it.

    Cuts are the places of the samples with which another micro-batch begins.
    """
    samples = samples_at_two(*payloads)
    bounds = [0, *cuts, len(samples)]
    batches = [samples[start:stop] for start, stop in pairwise(bounds)]
    query = Query(tumbling(8), ANY["aggregate"], emit=emit, lifetimes="samples", has_order=has_order)
    run = run_of(query, *batches)
    run_of_last_sample = run_of(query, samples_at_two(10))
    assert run.output == run_of_last_sample.output
    reasons = Counter(reason for _, reason, *_ in run.refused.elements())
    assert reasons == {"replaced": len(payloads) - 1}
    assert run.counts["accepted"] == 1
