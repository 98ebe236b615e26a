"""Packets on several links, each in disorder and at a pace of its own, on the engine, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from examples.thesis.packets import MINUTE
from muntin import EARLIEST, INFINITY, Event, JoinKind
from muntin.changes import Insertion, Punctuation
from muntin.testing import Batch, KeyedChange, Script
from muntin.windows import WindowKind
from muntin_engine.testing import band_disorder, block_disorder, split
from muntin_engine.time.lifetimes import LifetimeChange
from muntin_stats import Count
from tests.scenarios.join import Join
from tests.scenarios.known import Arrival
from tests.scenarios.query import Query
from tests.scenarios.running import Run
from tests.scenarios.stepping import AS_IT_IS


class Flow(NamedTuple):
    """A packet on a link, from one host to another; `at` is its time in seconds."""

    link: str
    source: int
    target: int
    at: int


class Side(NamedTuple):
    """An input of a join: the union of some links, by what its packets meet others, and how long each can be met."""

    links: Sequence[str]
    key: Callable[[Flow], tuple[int, ...]]
    changes: tuple[LifetimeChange, ...]


class Pair(NamedTuple):
    """Packets that met; `at` is when their common lifetime starts."""

    left: Flow
    right: Flow
    at: int


def random_flows(seed: int, links: str, count: int = 60) -> list[Flow]:
    """Return packets of twenty minutes on links that have a letter each; on the last one there is nearly nothing."""
    random = Random(seed)
    return [
        Flow(
            links[-1] if random.random() < 0.05 else random.choice(links),
            random.randrange(3),
            random.randrange(3),
            random.choice((random.randrange(20 * MINUTE), random.randrange(20) * MINUTE)),
        )
        for _ in range(count)
    ]


def arriving(flows: Sequence[Flow], seed: int) -> Iterator[tuple[str, list[Flow], int]]:
    """Yield a link, what comes on it next, and its watermark after that; links run ahead of each other at random."""
    random = Random(seed)
    left = {}
    for link in sorted({flow.link for flow in flows}):
        changes = [
            KeyedChange(None, Insertion(number, Event.point(flow.at, flow)))
            for number, flow in enumerate(flows)
            if flow.link == link
        ]
        script = Script((*sorted(changes, key=lambda step: step.change.event.start), Punctuation(INFINITY)))
        disorder = random.choice((band_disorder, block_disorder))
        script = split(disorder(script, 2 * MINUTE, random.randrange(99)), seed)
        left[link] = list(script.batches())
    pace = {link: random.choice((1, 5)) for link in left}
    while left:
        (link,) = random.choices(list(left), [pace[link] for link in left])
        batch = left[link].pop(0)
        watermark = EARLIEST if batch.punctuation is None else batch.punctuation
        yield link, [step.change.event.payload for step in batch.changes], watermark
        if not left[link]:
            del left[link]


def meet(flows: Sequence[Flow], sides: tuple[Side, Side], seed: int) -> Iterator[tuple[list[Pair], int]]:
    """Yield the pairs of each micro-batch of a join, and its output watermark.

    All evaluators that can run the join do, and have to agree.
    """
    left, right = sides
    join = Join(
        JoinKind.INNER,
        ("points", "points"),
        changes=(left.changes, right.changes),
        united=(len(left.links), len(right.links)),
    )
    runs = [Run(join, join.plan(name, buckets=1), AS_IT_IS) for name in join.evaluators]
    assert len(runs) > 1
    links = [(link, side.key) for side in sides for link in side.links]
    keys = dict[str, Hashable]()
    for link, some, watermark in arriving(flows, seed):
        batches = [Batch(())] * len(links)
        ((place, key),) = [(place, key) for place, (of, key) in enumerate(links) if of == link]
        numbered = [(flow, flows.index(flow)) for flow in some]
        steps = [(key(flow), Insertion(number, Event.point(flow.at, number))) for flow, number in numbered]
        batches[place] = batch_of(steps, watermark, keys)
        found = [_taken(run, batches) for run in runs]
        assert all(one == found[0] for one in found)
        yield [Pair(flows[of[0]], flows[of[1]], at) for of, at in found[0].elements()], min(runs[0].promised.values())
    assert all(run.last["events_held"] == 0 for run in runs)


def _taken(run: Run, batches: Sequence[Batch]) -> Counter[tuple[tuple[Any, ...], int]]:
    """Return the values of the rows that a micro-batch inserts, and where these start; it refuses none."""
    run.take(Arrival(tuple(batches)))
    assert not run.refused
    return Counter((row.values, row.lifetime[0]) for row in run.inserted.elements())


def batch_of(steps: Sequence[tuple[Hashable, Insertion[Any]]], watermark: int, keys: dict[str, Hashable]) -> Batch:
    """Return a micro-batch of one stream; keys are text, by which `keys` has what they were."""
    keys.update((str(key), key) for key, _ in steps)
    told = None if watermark == EARLIEST else watermark
    return Batch(tuple(KeyedChange(str(key), change) for key, change in steps), told)


def count(
    arrivals: Iterator[tuple[Sequence[tuple[Hashable, int]], str, int]], window: WindowKind, links: Sequence[str] = ""
) -> Counter[tuple[Any, ...]]:
    """Return (key, start of the window, events) of what a count over windows emits; each window once.

    Args:
        arrivals: The keys and times of events, the link that they are of, and its watermark.
        window: The windows.
        links: Those of the input, if it is a union.
    """
    query = Query(window, (Count(),), lifetimes="points", sources=((),) * len(links))
    run = Run(query, query.plan(buckets=1), AS_IT_IS)
    keys = dict[str, Hashable]()
    rows = Counter[tuple[Any, ...]]()
    for events, link, watermark in arrivals:
        batches = [Batch(())] * max(1, len(links))
        steps = [(key, Insertion(None, Event.point(at, 1))) for key, at in events]
        batches[links.index(link)] = batch_of(steps, watermark, keys)
        run.take(Arrival(tuple(batches)))
        assert not run.refused
        rows.update((keys[str(row.key)], row.window[0], *row.values) for row in run.inserted.elements())
    return rows
