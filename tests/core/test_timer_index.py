"""Keys that are due are found without a look at the others, whatever happened to their timers."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

import pytest

from muntin import INFINITY
from muntin_engine.evaluators.keyed.timer_index import TimerIndex
from muntin_engine.state.bucket_state import NEVER, Due, KeyTimer, soonest


def drawn(random: Random) -> KeyTimer:
    return KeyTimer(*(random.choice((random.randrange(100), INFINITY)) for _ in KeyTimer._fields))


@pytest.mark.parametrize("seed", range(20))
def test_the_index_says_what_a_look_at_all_timers_says(seed: int) -> None:
    random, timers = Random(seed), dict[bytes, KeyTimer]()
    index = TimerIndex()
    for _ in range(60):
        names = random.sample([bytes([number]) for number in range(40)], random.choice((1, 2, 30)))
        for name in names:
            timers[name] = NEVER if random.random() < 0.2 else drawn(random)
        index.update({name: timers[name] for name in names})
        at = Due(*(random.randrange(100) for _ in Due._fields))
        assert index.soonest() == soonest(timers.values())
        wanted = {name for name, timer in timers.items() if timer.is_reached(at)}
        assert index.due(at) == index.due(at) == wanted
        index.update({})
        assert index.due(at) == wanted


class Watched(KeyTimer):
    """Notes the keys whose timers are looked at, by their first field."""

    asked: ClassVar[list[int]] = []

    def __getitem__(self, field: Any) -> Any:
        self.asked.append(self.closing)
        return super().__getitem__(field)


def test_a_key_that_is_not_due_is_not_looked_at() -> None:
    timers = {number.to_bytes(2, "big"): Watched(number, INFINITY, INFINITY) for number in range(1000)}
    index = TimerIndex(timers.items())
    Watched.asked.clear()
    assert len(index.due(Due(4, 0, 0, 0))) == 5
    index.update({b"\x00\x00": Watched(77, INFINITY, INFINITY)})
    assert index.soonest().closing == 1
    assert 0 < len(Watched.asked) < 20
