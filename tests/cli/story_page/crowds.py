"""Stories of very many events."""

from __future__ import annotations

import random

from muntin import Axis
from muntin_engine.recording.story import Fate, Story, StoryBatch, StoryChange, StoryRow
from tests.cli.story_page.stories import HOUR, MINUTE, NOON


def crowd(events: int = 100_000, keys: int = 20) -> Story:
    """Very many events: points and lasting ones of several keys, and tumbling windows of an hour."""
    draw = random.Random(7)
    per_batch = max(1, events // 50)
    span = 30 * 24 * HOUR
    rows: list[StoryRow] = []
    members: dict[tuple[int, int], list[int]] = {}
    batches: list[StoryBatch] = []
    changes: list[StoryChange] = []
    for number in range(events):
        batch = number // per_batch
        key = draw.randrange(keys)
        start = NOON + span * number // events // MINUTE * MINUTE
        end = start + 1 if key % 2 else start + draw.randrange(2, 90) * MINUTE
        fate = Fate.LATE if draw.random() < 0.005 else Fate.COUNTED
        reason = "it starts 3 minutes before the watermark" if fate is Fate.LATE else ""
        rows.append(
            StoryRow(
                number=number,
                batch=batch,
                key=(f"sensor-{key:02}",),
                change="insert",
                start=start,
                end=end,
                values={"value": round(draw.gauss(20, 4), 2)},
                fate=fate,
                reason=reason,
                event=None if reason else number,
            )
        )
        if not reason:
            members.setdefault((key, start // HOUR), []).append(number)
    for batch in range(-(-events // per_batch)):
        newest = rows[min(events, (batch + 1) * per_batch) - 1].start or 0
        batches.append(StoryBatch(number=batch, run=0, rows=per_batch, watermark=newest, newest=newest))
        for place in sorted(place for place in members if (place[1] + 1) * HOUR <= newest):
            member_numbers = members.pop(place)
            number = len(changes)
            window = (place[1] * HOUR, (place[1] + 1) * HOUR)
            mean = sum(rows[each].values["value"] for each in member_numbers) / len(member_numbers)
            changes.append(
                StoryChange(
                    number=number,
                    batch=batch,
                    key=(f"sensor-{place[0]:02}",),
                    change="insert",
                    result=number,
                    window=window,
                    start=window[0],
                    end=window[1],
                    values={"mean": mean},
                    members=member_numbers,
                    trigger=[(batch + 1) * per_batch - 1],
                )
            )
    return Story(
        title=f"{events} events, tumbling(1 hour)",
        plan="tumbling(1 hour)",
        key_names=["sensor"],
        axis=Axis.TIME,
        batches=batches,
        rows=rows,
        changes=changes,
    )
