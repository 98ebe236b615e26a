"""The results of a story that are live at its end."""

from __future__ import annotations

from dataclasses import replace

from muntin import INFINITY
from muntin_engine.recording.story import Story, StoryChange


def live_results(story: Story) -> list[StoryChange]:
    """Return the insertions of the results that are never retracted, each with the end that the result has at last."""
    live: dict[int, StoryChange] = {}  # by the number of the result
    for change in story.changes:
        if change.change == "insert":
            live[change.number] = change
        elif change.change == "retract":
            del live[change.result]
        else:  # a revision
            new_end = INFINITY if change.new_end is None else change.new_end
            live[change.result] = replace(live[change.result], end=new_end)
    return list(live.values())
