"""A story as plain data for the page: columns, and the place of each bar."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from muntin.axis import INFINITY, DecimalAxis
from muntin_cli.story_page.columns import integers, lists, values, words
from muntin_cli.story_page.lanes import Stack, lanes_of

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story, StoryChange, StoryRow

EVENT: Final = 0
"""A row that brings an event: a bar."""
CHANGE: Final = 1
"""A row that changes an event: it is seen on its bar."""
OTHER: Final = 2
"""A row that does neither, as it is late, rejected or punctuation: a mark in a lane of its own."""


def packed(story: Story) -> dict[str, Any]:
    """Return a story as JSON has it: numbers as base64, repeated text once, and the lane of each bar.

    Where bars lie is decided here, once for all positions: nothing moves while a reader steps.
    """
    keys = _keys(story)
    numbers = {key: number for number, key in enumerate(keys)}
    kinds = [_kind(row) for row in story.rows]
    result_lanes, hidden_by = _result_lanes(story.changes)
    return {
        "title": story.title,
        "plan": story.plan,
        "notes": list(story.notes),
        "key_names": list(story.key_names),
        "axis": f"decimal {story.axis.places}" if isinstance(story.axis, DecimalAxis) else str(story.axis),
        "keys": [None if key is None else [str(part) for part in key] for key in keys],
        "batches": {
            **_integers(story.batches, "number", "run", "watermark", "newest"),
            **_words(story.batches, "held_by"),
        },
        "rows": {
            **_integers(story.rows, "batch", "start", "end", "new_end", "event", "waits_for"),
            **_words(story.rows, "change", "input", "source", "fate", "reason"),
            **_origins(story.rows),
            "key": integers(numbers[row.key] for row in story.rows),
            "kind": integers(kinds),
            "lane": integers(_event_lanes(story.rows, kinds)),
            "values": values([row.values for row in story.rows]),
        },
        "changes": {
            **_integers(story.changes, "batch", "result", "start", "end", "new_end", "firing"),
            **_words(story.changes, "change", "window_name"),
            "key": integers(numbers[change.key] for change in story.changes),
            "window_start": integers(change.window and change.window[0] for change in story.changes),
            "window_end": integers(change.window and change.window[1] for change in story.changes),
            "is_early": integers(int(change.is_early) for change in story.changes),
            "lane": integers(result_lanes),
            "hidden_by": integers(hidden_by),
            "values": values([change.values for change in story.changes]),
            "members": lists([change.members for change in story.changes]),
            "bounds": lists([change.bounds for change in story.changes]),
            "trigger": lists([change.trigger for change in story.changes]),
        },
        "before": [packed(one) for one in story.before],
    }


def _keys(story: Story) -> list[tuple[Any, ...] | None]:
    found = dict.fromkeys([*(row.key for row in story.rows), *(change.key for change in story.changes)])
    known = [key for key in found if key is not None]
    try:
        known.sort()
    except TypeError:
        known.sort(key=str)
    return [*([None] if None in found else []), *known]


def _integers(things: Sequence[Any], *names: str) -> dict[str, Any]:
    return {name: integers(getattr(thing, name) for thing in things) for name in names}


def _words(things: Sequence[Any], *names: str) -> dict[str, Any]:
    return {name: words([getattr(thing, name) for thing in things]) for name in names}


def _origins(rows: Sequence[StoryRow]) -> dict[str, Any]:
    """Return which results of other queries rows are; nothing if none is one."""
    if not any(row.origin for row in rows):
        return {}
    parts = ("origin", "origin_change")
    return {name: integers(row.origin and row.origin[at] for row in rows) for at, name in enumerate(parts)}


def _kind(row: StoryRow) -> int:
    if row.fate != "counted" or row.start is None:
        return OTHER
    if row.event is None:
        return EVENT if row.change == "insert" else OTHER
    return EVENT if row.event == row.number else CHANGE


def _event_lanes(rows: Sequence[StoryRow], kinds: Sequence[int]) -> list[int]:
    """Return the lane of each event among those of its key, those of one input together.

    An open end counts as the one that it gets at last.
    """
    last: dict[int, int] = {}
    for row, kind in zip(rows, kinds, strict=True):
        if kind == EVENT:
            last[row.number] = _end(row.start, row.end)
        elif kind == CHANGE and row.event is not None and row.new_end is not None:
            before = last.get(row.event, row.new_end)
            last[row.event] = row.new_end if before == INFINITY else max(before, row.new_end)
    events_of: dict[Any, dict[str, list[StoryRow]]] = defaultdict(lambda: defaultdict(list))
    for row, kind in zip(rows, kinds, strict=True):
        if kind == EVENT:
            events_of[row.key][row.input].append(row)
    lanes = [0] * len(rows)
    for inputs in events_of.values():
        first = 0
        for _, events in sorted(inputs.items()):
            placed = lanes_of([(row.start or 0, last[row.number]) for row in events])
            for row, lane in zip(events, placed, strict=True):
                lanes[row.number] = first + lane
            first += max(placed) + 1
    return lanes


def _result_lanes(changes: Sequence[StoryChange]) -> tuple[list[int], list[int | None]]:
    """Return the lane of each insertion among the results of its key and its kind of window, and what hides it later.

    A result that comes where one was retracted before takes its place.
    """
    stacks: dict[tuple[Any, str], Stack] = defaultdict(Stack)
    lanes = [0] * len(changes)
    for change in changes:
        stack = stacks[change.key, change.window_name]
        if change.change == "insert":
            start, end = change.window or (change.start, _end(change.start, change.end))
            lanes[change.number] = stack.add(change.number, start, end)
        elif change.change == "retract":
            stack.retract(change.result)
    hidden_by = {number: by for stack in stacks.values() for number, by in stack.hidden_by.items()}
    return lanes, [hidden_by.get(number) for number in range(len(changes))]


def _end(start: int | None, end: int | None) -> int:
    return (start or 0) + 1 if end is None else end
