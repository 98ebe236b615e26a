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
    """Step a trigger through a history, with a restart after each step.

    Args:
        trigger: The trigger.
        views: What each micro-batch brings.
        sleeps: True to call it as an engine does, if a member comes or if it is due; False for each micro-batch.

    Returns:
        The places of the micro-batches at which it fires.
    """
    codec = Codec()
    state = trigger.create_state(WINDOW)
    places: list[int] = []
    for place, view in enumerate(views):
        clock_is_due = trigger.next_clock(state, WINDOW) <= view.clock
        time_is_due = trigger.next_event_time(state, WINDOW) <= view.max_event_time
        has_signal = bool(view.signals & trigger.signals)
        is_first = place == 0
        if sleeps and not (is_first or view.arrivals or clock_is_due or time_is_due or has_signal):
            continue
        packed_state = codec.pack(state)
        new_state, decision = trigger.step(state, WINDOW, view)
        assert codec.pack(state) == packed_state, f"{trigger} alters its state"
        state = codec.unpack(codec.pack(new_state))
        if decision.fires:
            places.append(place)
        if decision.is_finished:
            break
    return places


@pytest.mark.parametrize("block", range(10))
def test_a_random_composition_fires_where_its_definition_says(block: int) -> None:
    """A block is a hundred seeds."""
    seeds_by_firings: Counter[int] = Counter()
    for seed in range(block * 100, block * 100 + 100):
        random = Random(seed)
        trigger = random_trigger(random)
        views = random_views(random, WINDOW)
        expected = life(trigger, WINDOW, views).firings
        assert firings(trigger, views, sleeps=True) == expected, f"seed {seed}: {trigger} over {views}"
        assert firings(trigger, views, sleeps=False) == expected, f"seed {seed}: {trigger} asked every time"
        seeds_by_firings[len(expected)] += 1
    assert len(seeds_by_firings) > 3, "some never fire, some once, some more often"
    assert seeds_by_firings[0] < 60
