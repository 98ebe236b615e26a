"""The results of a story that are live at its end."""

from __future__ import annotations

from dataclasses import replace

from muntin import INFINITY
from muntin_engine.recording.story import Story, StoryChange


def live_results(story: Story) -> list[StoryChange]:
    """Return the results that were inserted and not retracted, with the ends that they have."""
    live: dict[int, StoryChange] = {}
    for change in story.changes:
        if change.change == "insert":
            live[change.number] = change
        elif change.change == "retract":
            del live[change.result]
        else:
            live[change.result] = replace(
                live[change.result], end=INFINITY if change.new_end is None else change.new_end
            )
    return list(live.values())
