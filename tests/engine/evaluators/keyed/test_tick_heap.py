"""The least ticks of ids, by a heap, against a dictionary with the tick of each id."""

from __future__ import annotations

from random import Random

import pytest

from muntin_engine.evaluators.joins.left_timers import NEVER, TickIndex
from muntin_engine.evaluators.keyed.tick_heap import TickHeap


@pytest.mark.parametrize("seed", range(20))
def test_a_heap_gives_ids_by_their_present_ticks_though_ticks_change_without_its_knowledge(seed: int) -> None:
    random = Random(seed)
    ticks: dict[int, int] = {}
    heap: TickHeap[int] = TickHeap(ticks.get)
    for _ in range(300):
        id = random.randrange(12)
        tick = random.randrange(10)
        action = random.choice(["move", "move", "move", "remove", "take"])
        if action == "move":
            if ticks.get(id) != tick:
                ticks[id] = tick
                heap.enter(tick, [id])
        elif action == "remove":
            ticks.pop(id, None)
        else:
            assert set(heap.take_until(tick)) == take_ids_until(tick, ticks)

        assert heap.least() == min(ticks.values(), default=None)
        assert heap.has(tick) == (tick in ticks.values())

    ticks.clear()
    assert heap.take_until(9) == []
    assert len(heap) == 0, "outdated entries are gone, too"


@pytest.mark.parametrize("seed", range(20))
def test_an_index_gives_ids_by_the_last_ticks_that_were_put(seed: int) -> None:
    random = Random(seed)
    ticks: dict[int, int] = {}
    index = TickIndex()
    for step in range(600):
        id = random.randrange(12)
        tick = random.choice([*range(10), NEVER])
        if random.random() < 0.9:
            index.put(id, tick)
            ticks[id] = tick
            if tick == NEVER:
                del ticks[id]
        elif tick != NEVER:
            taken_ids = index.take_until(tick)
            expected_ids = take_ids_until(tick, ticks)
            assert len(taken_ids) == len(expected_ids)
            assert set(taken_ids) == expected_ids

        assert len(index) == len(ticks)
        assert index.least() == min(ticks.values(), default=NEVER)
        if step > 50:  # `has` makes the entries of an index: the first steps try one without entries
            assert index.has(tick) == (tick in ticks.values())


def take_ids_until(tick: int, ticks: dict[int, int]) -> set[int]:
    """Remove the ids up to and with a tick from a dictionary of ticks by id, and return these ids."""
    ids = {id for id, tick_of_id in ticks.items() if tick_of_id <= tick}
    for id in ids:
        del ticks[id]
    return ids
