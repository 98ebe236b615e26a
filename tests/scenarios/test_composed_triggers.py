"""A thousand random compositions do what they mean: asked only when something happens, restarted between any two."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from muntin import Window
from muntin.triggers import Trigger, TriggerView
from muntin_engine.state.codec import Codec
from tests.scenarios.random_triggers import random_trigger, random_views
from tests.scenarios.trigger_definition import life

WINDOW = Window(0, 20)


def firings(trigger: Trigger, views: list[TriggerView], *, sleeps: bool) -> list[int]:
    """Step a trigger through a history, as an engine does, with a restart after each step."""
    codec = Codec()
    state = trigger.create_state(WINDOW)
    fired: list[int] = []
    for place, view in enumerate(views):
        clock = trigger.next_clock(state, WINDOW)
        max_event_time = trigger.next_event_time(state, WINDOW)
        is_due = clock <= view.clock or max_event_time <= view.max_event_time or bool(view.signals & trigger.signals)
        if place and sleeps and not (view.arrivals or is_due):
            continue
        before = codec.pack(state)
        new, decision = trigger.step(state, WINDOW, view)
        assert codec.pack(state) == before, f"{trigger} alters its state"
        state = codec.unpack(codec.pack(new))
        if decision.fires:
            fired.append(place)
        if decision.is_finished:
            break
    return fired


@pytest.mark.parametrize("block", range(10))
def test_a_random_composition_fires_where_it_should(block: int) -> None:
    fired: Counter[int] = Counter()
    for seed in range(block * 100, block * 100 + 100):
        random = Random(seed)
        trigger = random_trigger(random)
        views = random_views(random, WINDOW)
        expected = life(trigger, WINDOW, views).firings
        assert firings(trigger, views, sleeps=True) == expected, f"seed {seed}: {trigger} over {views}"
        assert firings(trigger, views, sleeps=False) == expected, f"seed {seed}: {trigger} asked every time"
        fired[len(expected)] += 1
    assert len(fired) > 3
    assert fired[0] < 60
