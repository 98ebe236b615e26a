"""Keys of a few events evaluated from their records, against all keys evaluated with their indexes.

Keys bring one row or a few, with and without a fault, and the watermark closes windows now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, Aggregate, TimestampPolicy, hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general import few_events
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.keyed import key_store
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.core.build import query, stored_states
from tests.torture.streams import general

WINDOWS = [tumbling(10), hopping(12, 5), hopping(10, 20), HoppingWindows(10, 5, 3, reach=8)]
POLICIES = [
    {"has_ids": False},
    {"has_ids": False, "timestamps": TimestampPolicy.POINT_AT_END},
    {"has_ids": False, "keeps": lambda payload: payload[0] is not None},
    {"has_ids": True},
]
MOST_ROWS = few_events.MOST_ROWS
Rows = list[tuple[Key, list[InputChange]]]


class InOrder(Aggregate[object, tuple[str, ...]]):
    name, version = "test.in_order", "1.0.0"

    def compute_result(self, payloads: Sequence[object]) -> tuple[str, ...]:
        return tuple(map(repr, payloads))


@pytest.fixture(autouse=True)
def large_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_store, "LARGE", 300)


def change(random: Random, watermark: int, *, has_ids: bool) -> InputChange:
    """An insertion, or one row in eight with a fault: late, empty, without an end, or a revision of nothing."""
    start = max(watermark, 0) + random.randrange(25)
    end: int | None = start + random.choice([1, 1, 1, 7, 30])
    new_end, value = None, random.choice([1, 2, 3, None, "text"])
    match random.randrange(32):
        case 0:
            start = max(watermark, 0) - random.randrange(1, 6)
        case 1:
            end = start
        case 2:
            end = None
        case 3:
            new_end = start + 2
    id = random.randrange(10**6) if has_ids and random.random() < 0.5 else None
    return InputChange(id, start, end, (value,), new_end)


def follow(asked: EvaluatorQuery, seed: int, monkeypatch: pytest.MonkeyPatch, *, few: bool) -> list[Any]:
    """Return what each batch gave, and all events that are stored after it."""
    monkeypatch.setattr(few_events, "MOST_ROWS", MOST_ROWS if few else -1)
    random, cells, kept, said = Random(seed), MemoryCells(), KeptStores(), list[Any]()
    ids = set[tuple[Key, int]]()
    watermark = EARLIEST
    for number in range(25):
        if random.random() < 0.2:
            kept = KeptStores()
        keys = random.sample(range(6), random.randrange(6))
        counts = {key: random.choice([1, 1, 1, 2, 5, 20]) for key in keys}
        rows: Rows = [
            ((key,), [change(random, watermark, has_ids=asked.has_ids) for _ in range(counts[key])]) for key in keys
        ]
        marks = [((random.randrange(6),), max(watermark, 0) + 15)] if random.random() < 0.1 else []
        if random.random() < 0.4:
            watermark = max(watermark, 0) + random.randrange(8)
        last = number == 24
        arrived = Progress(INFINITY if last else watermark, max(watermark, 0) + 30, max(watermark, 0) + 29)
        running = Bucket(asked, cells, Codec(), {}, kept=kept, name=("q", 0))
        result = running.process(rows, arrived, key_watermarks=marks)
        states = stored_states(asked, cells, Codec(), {})
        # ids of events differ, which nobody sees
        events = sorted(repr([event[1:] for event in state.events]) for state in states)
        said.append([told(result), events])
        new = {(key, change.id) for key, changes in result.output for change in changes}
        assert not new & ids
        assert len(new) == sum(len(changes) for _, changes in result.output)
        ids |= new
    return said


def told(result: BatchResult) -> list[Any]:
    held, metadata = result.held, (result.accepted, result.keys, result.windows_closed, result.watermark)
    output = [(key, [change._replace(id=0) for change in changes]) for key, changes in result.output]
    return [output, result.rejections, metadata, (held.keys, held.events, held.windows)]


@pytest.mark.parametrize("policies", POLICIES, ids=["final", "at the end", "filtered", "with ids"])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_nothing_changes(window: HoppingWindows, policies: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = query(window, InOrder(), **policies)
    for seed in range(3):
        at_once = follow(asked, seed, monkeypatch, few=False)
        assert any(output for (output, *_), _ in at_once[:-1])
        assert follow(asked, seed, monkeypatch, few=True) == at_once


def test_changes_after_records_of_a_few_events_are_read_back(tmp_path: Path) -> None:
    """A stream of `make torture` in which changes of a key are appended to records of a few events."""
    assert general(2010887192, tmp_path)["restarts"] == 11
