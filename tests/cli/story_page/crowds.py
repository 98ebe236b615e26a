"""Stories of very many events."""

from __future__ import annotations

import random

from muntin import Axis
from muntin_engine.recording.story import Fate, Story, StoryBatch, StoryChange, StoryRow
from tests.cli.story_page.stories import HOUR, MINUTE, NOON

_BATCHES = 50
_SPAN = 30 * 24 * HOUR


def crowd(events: int = 100_000, keys: int = 20) -> Story:
    """Return a month of very many events: points and lasting ones of several keys, and tumbling windows of an hour."""
    per_batch = max(1, events // _BATCHES)
    rows = _sensor_rows(events, keys, per_batch)
    batches: list[StoryBatch] = []
    changes: list[StoryChange] = []
    open_windows: dict[tuple[str, int], list[StoryRow]] = {}  # members by sensor and hour
    for first in range(0, events, per_batch):
        batch_rows = rows[first : first + per_batch]
        for row in batch_rows:
            if row.fate is Fate.COUNTED and row.key is not None and row.start is not None:
                open_windows.setdefault((row.key[0], row.start // HOUR), []).append(row)

        # Rows come in order, so the watermark is the newest start: the hours before it are complete.
        last_row = batch_rows[-1]
        watermark = last_row.start or 0
        batch = len(batches)
        batches.append(StoryBatch(number=batch, run=0, rows=len(batch_rows), watermark=watermark, newest=watermark))
        complete = [place for place in open_windows if (place[1] + 1) * HOUR <= watermark]
        for sensor, hour in sorted(complete):
            members = open_windows.pop((sensor, hour))
            changes.append(_hourly_mean(len(changes), sensor, hour, members, last_row))
    return Story(
        title=f"{events} events, tumbling(1 hour)",
        plan="tumbling(1 hour)",
        key_names=["sensor"],
        axis=Axis.TIME,
        batches=batches,
        rows=rows,
        changes=changes,
    )


def _sensor_rows(events: int, keys: int, per_batch: int) -> list[StoryRow]:
    """Draw rows in the order of their starts, a few of which are late all the same.

    Args:
        events: The number of rows.
        keys: The number of sensors; those of odd numbers have points.
        per_batch: The number of rows in a micro-batch.
    """
    draw = random.Random(7)
    rows: list[StoryRow] = []
    for number in range(events):
        sensor = draw.randrange(keys)
        start = NOON + _SPAN * number // events // MINUTE * MINUTE
        end = start + 1 if sensor % 2 else start + draw.randrange(2, 90) * MINUTE
        is_late = draw.random() < 0.005
        rows.append(
            StoryRow(
                number=number,
                batch=number // per_batch,
                key=(f"sensor-{sensor:02}",),
                change="insert",
                start=start,
                end=end,
                values={"value": round(draw.gauss(20, 4), 2)},
                fate=Fate.LATE if is_late else Fate.COUNTED,
                reason="it starts 3 minutes before the watermark" if is_late else "",
                event=None if is_late else number,
            )
        )
    return rows


def _hourly_mean(number: int, sensor: str, hour: int, members: list[StoryRow], last_row: StoryRow) -> StoryChange:
    """Return the result of a window.

    Args:
        number: The number of the change.
        sensor: The sensor.
        hour: The hour of the window, counted from the beginning of the axis.
        members: The rows in the window.
        last_row: The row that moved the watermark past the end of the window.
    """
    window = (hour * HOUR, (hour + 1) * HOUR)
    return StoryChange(
        number=number,
        batch=last_row.batch,
        key=(sensor,),
        change="insert",
        result=number,
        window=window,
        start=window[0],
        end=window[1],
        values={"mean": sum(row.values["value"] for row in members) / len(members)},
        members=[row.number for row in members],
        trigger=[last_row.number],
    )
