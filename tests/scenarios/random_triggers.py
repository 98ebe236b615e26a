"""Random triggers, and random histories of a window for them."""

from __future__ import annotations

from random import Random

from muntin import EARLIEST, Window
from muntin.triggers import (
    Trigger,
    TriggerView,
    after,
    after_count,
    all_of,
    any_of,
    each,
    every,
    every_count,
    on_signal,
    past_end,
    past_part,
    percentile,
    repeat,
    until,
    when,
)
from tests.scenarios.trigger_definition import RESULT, GiveUp, LongResult

CONDITIONS = ("x > 5", "x < -5")
SIGNALS = ("bell", "dusk")


def random_trigger(random: Random, depth: int = 3) -> Trigger:
    """Draw a composition of triggers, nested up to a depth."""
    if depth == 0 or random.random() < 0.25:
        return random_plain_trigger(random)
    parts = [random_trigger(random, depth - 1) for _ in range(random.randint(1, 3))]
    kind = random.randrange(5)
    if kind == 0:
        return all_of(*parts)
    if kind == 1:
        return any_of(*parts)
    if kind == 2:
        return each(*parts)
    if kind == 3:
        return repeat(parts[0])
    return until(parts[0], random_trigger(random, depth - 1))


def random_plain_trigger(random: Random) -> Trigger:
    """Draw a trigger without parts."""
    return random.choice(
        [
            after_count(random.randint(1, 5)),
            every_count(random.randint(1, 4)),
            after(random.randint(1, 30)),
            every(random.randint(1, 30)),
            past_end(random.choice([0, 0, 3, -4])),
            past_part(random.choice([0.0, 0.3, 0.5, 0.9])),
            percentile(random.choice([0.1, 0.5, 0.8])),
            when(random.choice(CONDITIONS)),
            on_signal(random.choice(SIGNALS)),
            GiveUp(random.randint(0, 30)),
            LongResult(random.randint(2, 12)),
        ]
    )


def random_views(random: Random, window: Window) -> list[TriggerView]:
    """Draw a history of a window, which begins with its first members."""
    clock = random.choice([EARLIEST, random.randint(0, 50)])
    max_event_time = window.start
    views: list[TriggerView] = []
    for place in range(random.randint(1, 25)):
        is_first = place == 0
        arrivals = random.randint(1, 3) if is_first else random.choice([0, 0, 1, 2, 5])
        if random.random() < 0.5:
            clock = max(0, clock) + random.randint(0, 20)
        max_event_time += random.choice([0, 0, 1, 3])
        payloads = [random.randint(-9, 9) for _ in range(arrivals)]
        views.append(
            TriggerView(
                max_event_time=max_event_time,
                clock=clock,
                arrivals=arrivals,
                newest=random.randrange(window.start, window.end) if arrivals else EARLIEST,
                signals=frozenset(signal for signal in SIGNALS if random.random() < 0.05),
                values={
                    "x > 5": [x > 5 for x in payloads],
                    "x < -5": [None if x == 0 else x < -5 for x in payloads],
                },
                results={RESULT: "x" * random.randint(0, 14)},
            )
        )
    return views
