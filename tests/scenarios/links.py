"""Packets on several links, each in disorder and at its own pace, on the engine, without Spark."""

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
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Run
from tests.scenarios.stepping import NO_MISHAPS


class Flow(NamedTuple):
    """A packet on a link, from one host to another; `at` is its time in seconds."""

    link: str
    source: int
    target: int
    at: int


class Side(NamedTuple):
    """An input of a join: a union of links, the key by which packets meet, and how long each can be met."""

    links: Sequence[str]
    key: Callable[[Flow], tuple[int, ...]]
    changes: tuple[LifetimeChange, ...]


class LinkBatch(NamedTuple):
    """The next packets of a link, and its watermark after them."""

    link: str
    flows: list[Flow]
    watermark: int


class KeyedTime(NamedTuple):
    """A point in time of a key, to be counted."""

    key: Hashable
    time: int


class KeyedBatch(NamedTuple):
    """Points to be counted, the link that they come from, and its watermark after them."""

    points: Sequence[KeyedTime]
    link: str
    watermark: int


class Pair(NamedTuple):
    """Packets that met; `at` is when their common lifetime starts."""

    left: Flow
    right: Flow
    at: int


def random_flows(seed: int, links: str, count: int = 60) -> list[Flow]:
    """Draw packets of twenty minutes on links that have a letter each; on the last one there is nearly nothing."""
    random = Random(seed)
    flows: list[Flow] = []
    for _ in range(count):
        link = links[-1] if random.random() < 0.05 else random.choice(links)
        source = random.randrange(3)
        target = random.randrange(3)
        time = random.choice((random.randrange(20 * MINUTE), random.randrange(20) * MINUTE))
        flows.append(Flow(link, source, target, time))
    return flows


def link_batches(flows: Sequence[Flow], seed: int) -> Iterator[LinkBatch]:
    """Yield the batches of all links, each of which is in disorder; links run ahead of each other at random."""
    random = Random(seed)
    waiting_batches: dict[str, list[Batch]] = {}
    for link in sorted({flow.link for flow in flows}):
        in_order = sorted((flow.at, number) for number, flow in enumerate(flows) if flow.link == link)
        changes = [KeyedChange(None, Insertion(number, Event.point(at, flows[number]))) for at, number in in_order]
        disorder = random.choice((band_disorder, block_disorder))
        script = disorder(Script((*changes, Punctuation(INFINITY))), 2 * MINUTE, random.randrange(99))
        waiting_batches[link] = list(split(script, seed).batches())

    pace = {link: random.choice((1, 5)) for link in waiting_batches}
    while waiting_batches:
        links = list(waiting_batches)
        (link,) = random.choices(links, weights=[pace[waiting_link] for waiting_link in links])
        batch = waiting_batches[link].pop(0)
        watermark = EARLIEST if batch.punctuation is None else batch.punctuation
        yield LinkBatch(link, [step.change.event.payload for step in batch.changes], watermark)
        if not waiting_batches[link]:
            del waiting_batches[link]


def meet(flows: Sequence[Flow], sides: tuple[Side, Side], seed: int) -> Iterator[tuple[list[Pair], int]]:
    """Join the packets of two sides; yield the pairs that each micro-batch emits, and its output watermark.

    All evaluators that can run the join do, and have to agree.

    Args:
        flows: The packets of all links.
        sides: The left and the right input.
        seed: Seed of the order in which packets arrive.
    """
    left, right = sides
    join = Join(
        JoinKind.INNER,
        ("points", "points"),
        changes=(left.changes, right.changes),
        united=(len(left.links), len(right.links)),
    )
    runs = [Run(join, join.plan(name, buckets=1), NO_MISHAPS) for name in join.evaluators]
    assert len(runs) > 1
    links = [*left.links, *right.links]
    side_of_link = dict.fromkeys(left.links, left) | dict.fromkeys(right.links, right)
    keys = dict[str, Hashable]()
    for link, link_flows, watermark in link_batches(flows, seed):
        steps: list[tuple[Hashable, Insertion[Any]]] = []
        for flow in link_flows:
            number = flows.index(flow)  # the payload, so that pairs can be found again
            key = side_of_link[link].key(flow)
            steps.append((key, Insertion(number, Event.point(flow.at, number))))
        batches = [Batch(())] * len(links)
        batches[links.index(link)] = batch_of(steps, watermark, keys)
        output, *outputs_of_others = [_inserted(run, batches) for run in runs]
        assert all(output == output_of_other for output_of_other in outputs_of_others)
        pairs = [Pair(flows[left_number], flows[right_number], at) for (left_number, right_number), at in output]
        yield pairs, min(runs[0].output_watermarks.values())
    assert all(run.last["events_held"] == 0 for run in runs)


def _inserted(run: Run, batches: Sequence[Batch]) -> list[tuple[tuple[Any, ...], int]]:
    """Process a micro-batch, which refuses no row; return the values and starts of the rows that it inserts, sorted."""
    run.process(Arrival(tuple(batches)))
    assert not run.refused
    return sorted((row.values, row.lifetime[0]) for row in run.inserted.elements())


def batch_of(steps: Sequence[tuple[Hashable, Insertion[Any]]], watermark: int, keys: dict[str, Hashable]) -> Batch:
    """Return a micro-batch of one stream, in which keys are text.

    Args:
        steps: Keys and changes.
        watermark: Watermark after them.
        keys: Keys by their text; those of the steps are added.
    """
    for key, _ in steps:
        keys[str(key)] = key
    punctuation = None if watermark == EARLIEST else watermark
    return Batch(tuple(KeyedChange(str(key), change) for key, change in steps), punctuation)


def count(
    keyed_batches: Iterator[KeyedBatch], window: WindowKind, links: Sequence[str] = ""
) -> Counter[tuple[Any, ...]]:
    """Count points over windows, and return (key, start of the window, count) of each window, which is emitted once.

    Args:
        keyed_batches: The points, batch by batch.
        window: Windows.
        links: Links of the input, if it is a union.
    """
    query = Query(window, (Count(),), lifetimes="points", sources=((),) * len(links))
    run = Run(query, query.plan(buckets=1), NO_MISHAPS)
    keys = dict[str, Hashable]()
    counts = Counter[tuple[Any, ...]]()
    for points, link, watermark in keyed_batches:
        batches = [Batch(())] * max(1, len(links))
        steps = [(key, Insertion(None, Event.point(time, 1))) for key, time in points]
        batches[links.index(link)] = batch_of(steps, watermark, keys)
        run.process(Arrival(tuple(batches)))
        assert not run.refused
        for row in run.inserted.elements():
            start, _ = row.window
            counts[keys[str(row.key)], start, *row.values] += 1
    return counts
