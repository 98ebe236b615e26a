"""Ids by their ticks, against a look at all of them."""

from __future__ import annotations

from random import Random

import pytest

from muntin_engine.evaluators.joins.left_timers import NEVER, TickIndex
from muntin_engine.evaluators.keyed.tick_heap import TickHeap


@pytest.mark.parametrize("seed", range(20))
def test_ids_are_taken_by_the_ticks_that_they_have_now(seed: int) -> None:
    random = Random(seed)
    ticks: dict[int, int] = {}
    heap: TickHeap[int] = TickHeap(ticks.get)
    for _ in range(300):
        id, tick = random.randrange(12), random.randrange(10)
        action = random.choice(["move", "move", "move", "remove", "take"])
        if action == "move":
            if ticks.get(id) != tick:
                ticks[id] = tick
                heap.enter(tick, [id])
        elif action == "remove":
            ticks.pop(id, None)
        else:
            expected = {id for id, its_tick in ticks.items() if its_tick <= tick}
            assert set(heap.take_until(tick)) == expected
            for taken in expected:
                del ticks[taken]
        assert heap.least() == min(ticks.values(), default=None)
        assert heap.has(tick) == (tick in ticks.values())
    ticks.clear()
    assert heap.take_until(9) == []
    assert len(heap) == 0


@pytest.mark.parametrize("seed", range(20))
def test_an_index_keeps_the_last_tick_of_each_id(seed: int) -> None:
    random = Random(seed)
    ticks: dict[int, int] = {}
    index = TickIndex()
    for step in range(600):
        id, tick = random.randrange(12), random.choice([*range(10), NEVER])
        if random.random() < 0.9:
            index.put(id, tick)
            ticks[id] = tick
            if tick == NEVER:
                del ticks[id]
        elif tick != NEVER:
            expected = {id for id, its_tick in ticks.items() if its_tick <= tick}
            taken_ids = index.take_until(tick)
            assert len(taken_ids) == len(expected)
            assert set(taken_ids) == expected
            for taken in expected:
                del ticks[taken]
        assert len(index) == len(ticks)
        assert index.least() == min(ticks.values(), default=NEVER)
        if step > 50:  # from here on the index has entries
            assert index.has(tick) == (tick in ticks.values())
