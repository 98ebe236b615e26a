"""Rows that make no sense are refused, each of them and no other, and leave no trace in the output.

Into random streams, whose events' changes come in any order, go rows that are late, that expect an end the event never
has, that insert what is alive, or that revise what never came.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, EmitPolicy, Event
from muntin.changes import Insertion, Punctuation, Revision
from muntin.testing import evaluate, random_stream, shuffle, split
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.differential.cases import Case, until_closed
from tests.differential.drive import by_key, input_change

NEVER_HAD = 999
"""An end that no event of these streams has."""


def spoiled(stream: Script, random: Random) -> Script:
    """Return a stream with some rows that make no sense among the others."""
    steps: list[Step] = []
    watermark = EARLIEST
    for step in stream.steps:
        steps.append(step)
        if isinstance(step, Punctuation):
            watermark = step.time
        if isinstance(step, KeyedChange) and random.random() < 0.3:
            steps.append(KeyedChange(step.key, wrong(step, stream, watermark, random)))
    return Script(tuple(steps), allow_illegal=True)


def wrong(step: KeyedChange, stream: Script, watermark: int, random: Random) -> Insertion[int] | Revision[int]:
    """Return a change that cannot be taken after a step."""
    id, event = step.change.id, step.change.event
    never = Event(event.start, NEVER_HAD, event.payload)
    kinds: list[Insertion[int] | Revision[int]] = [
        Revision(name, never, event.start + random.randint(1, 9)) for name in (id, "nobody")
    ]
    if watermark > EARLIEST:
        return random.choice([*kinds, Insertion("late", Event(watermark - 3, watermark + 9, 1000))])
    others = [other.change for other in stream.changes() if (other.key, other.change.id) == (step.key, id)]
    is_never_retracted = not any(isinstance(other, Revision) and other.is_retraction for other in others)
    if isinstance(step.change, Insertion) and is_never_retracted and event.end < INFINITY:
        return random.choice([*kinds, Insertion(id, Event(event.start, INFINITY, 1000))])
    return random.choice(kinds)


@pytest.mark.parametrize("window", ["tumbling", "snapshot", "count by end 2"])
@pytest.mark.parametrize("seed", range(25))
def test_what_makes_no_sense_is_refused_and_nothing_else(window: str, seed: int) -> None:
    random = Random(seed)
    stream = random_stream(seed, events=8, closed=True, again=0.3)
    stream = until_closed(shuffle(until_closed(stream), seed, early_revisions=True))
    stream = split(spoiled(stream, random), seed, restarts=0)
    case = Case(window, "operator", emit=EmitPolicy.FINAL)
    bucket, found, refused = (
        Bucket(case.query, MemoryCells(), Codec(), {}),
        Counter[Any](),
        Counter[Any](),
    )
    for batch in stream.batches():
        result = bucket.process(by_key(case, batch, random), progress_of(case.query.window, batch))
        refused.update((key, rejection.change) for key, rejection in result.rejections)
        found.update((key, some.window, some.value) for (key,), changes in result.output for some in changes)
    wrong_rows = [step for step in stream.illegal() if isinstance(step, KeyedChange)]
    assert refused == Counter(((step.key,), input_change(case, step)) for step in wrong_rows)
    assert wrong_rows
    for key, table in stream.history().items():
        output = evaluate(case.reference, table.values(), INFINITY, result.progress.horizon)
        meant = Counter((key, row.window, row.value) for row in output)
        assert Counter({row: count for row, count in found.items() if row[0] == key}) == meant
