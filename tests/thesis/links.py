"""Packets on several links, each in disorder and at a pace of its own, at the engine's buckets, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Event, JoinKind, tumbling
from muntin.changes import Insertion, Punctuation
from muntin.progress import Punctuated
from muntin.testing import KeyedChange, Script, band_disorder, block_disorder, split
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.core.lifetimes import LifetimeChange
from muntin_engine.core.source_rules import SourceRules
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.joins.bucket import JoinBucket
from muntin_engine.evaluators.joins.key_state import JoinQuery
from muntin_engine.evaluators.pairing.pair_store import SIDES, pair_query
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_stats import Count
from tests.differential.lifetimes import Life, changed
from tests.joins.test_pairs import blob
from tests.thesis.packets import MINUTE


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


def tracker(links: Sequence[str], changes: tuple[LifetimeChange, ...] = ()) -> ProgressTracker:
    """Return what follows how complete a union of links is."""
    return ProgressTracker(
        Punctuated(), tuple(links), rules=tuple(SourceRules(link, Punctuated(), changes) for link in links)
    )


def meet(flows: Sequence[Flow], sides: Sequence[Side], seed: int) -> Iterator[tuple[list[Pair], int]]:
    """Yield what meets in each micro-batch of a join, and its output watermark.

    Both evaluators run, the general one and that on arrays, and have to agree.
    """
    kept, trackers = EvaluatorQuery(tumbling(1), (), has_ids=False), [tracker(s.links, s.changes) for s in sides]
    query = JoinQuery(JoinKind.INNER, (kept, kept), ((0, 0), (1, 0)))
    general = JoinBucket(query, MemoryCells(), Codec(), {"query": "links"}, trackers)
    on_arrays = ArrayBucket(pair_query(), trackers, MemoryCells(), Codec(), Compatibility({"query": "links"}, []))
    for link, some, watermark in arriving(flows, seed):
        ((place, side),) = [(place, side) for place, side in enumerate(sides) if link in side.links]
        rows: list[tuple[Key, list[InputChange]]] = []
        for flow in some:
            life: Life | None = Life(flow.at, flow.at + 1, flows.index(flow))
            for change in side.changes:
                assert life is not None
                life = changed(change, life)
            assert life is not None
            key = " ".join(map(str, side.key(flow)))
            rows.append(((key,), [InputChange(None, life.start, life.end, (life.payload,), side=place)]))
        observed = [[Observation(link, watermark=watermark)] if place == of else [] for of in range(2)]
        reports = [InputReport(Progress(), seen) for seen in observed]
        met, arrays = general.take(rows, reports), on_arrays.process([blob(rows, place)] if rows else [], reports)
        assert not met.rejections
        found = [(*change.value, change.start) for _, changes in met.output for change in changes]
        pairs = [some for _, some, *_ in arrays.outcome.output]
        columns = [(*(some.parts[of].table.column(0).to_pylist() for of in SIDES), some.low) for some in pairs]
        assert Counter(found) == Counter(row for some in columns for row in zip(*some, strict=True))
        assert met.held.events == arrays.held.events
        yield [Pair(flows[left], flows[right], at) for left, right, at in found], met.watermark
    assert met.held.events == 0


def count(
    batches: Iterator[tuple[Sequence[tuple[Hashable, int]], Sequence[Observation], int]],
    window: WindowKind,
    links: Sequence[str] = (),
) -> Counter[tuple[Any, ...]]:
    """Return (key, start of the window, events) of what a count over windows emits; each window once.

    Args:
        batches: The keys and times of events, what was observed of links, and the watermark of what has no links.
        window: The windows.
        links: Those of the input, if it is a union.
    """
    query = EvaluatorQuery(window, (Binding(Count(), lambda payload: payload[0]),), has_ids=False)
    bucket = Bucket(query, MemoryCells(), Codec(), {}, [tracker(links)] if links else ())
    rows: Counter[tuple[Any, ...]] = Counter()
    for events, observed, watermark in batches:
        changes = [((key,), [InputChange(None, at, at + 1, (1,))]) for key, at in events]
        newest = max((at + 1 for _, at in events), default=EARLIEST)
        arrived = Progress(watermark, newest, newest)
        result = bucket.process(changes, arrived, observed=observed)
        assert not result.rejections
        rows.update((key, change.window.start, *change.value) for (key,), some in result.output for change in some)
    return rows
