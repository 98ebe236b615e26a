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
"""A row that changes an event: its bar shows the change."""
OTHER: Final = 2
"""A row that does neither, as it is late, rejected or punctuation: a mark in a lane of its own."""


def packed(story: Story) -> dict[str, Any]:
    """Return a story as data for JSON: numbers as base64, repeated text once, and the lane of each bar.

    Where bars lie is decided here, once for all positions: nothing moves while a reader steps.
    """
    # Keys are texts once, and numbers in each row.
    keys = _keys(story)
    key_numbers = {key: number for number, key in enumerate(keys)}
    key_texts: list[list[str] | None] = []
    for key in keys:
        key_texts.append(None if key is None else [str(column) for column in key])
    kinds = [_kind(row) for row in story.rows]
    result_lanes, hidden_by = _result_lanes(story.changes)
    return {
        "title": story.title,
        "plan": story.plan,
        "notes": list(story.notes),
        "key_names": list(story.key_names),
        "axis": f"decimal {story.axis.places}" if isinstance(story.axis, DecimalAxis) else str(story.axis),
        "keys": key_texts,
        "batches": {
            **_integers(story.batches, "number", "run", "watermark", "newest"),
            **_words(story.batches, "held_by"),
        },
        "rows": {
            **_integers(story.rows, "batch", "start", "end", "new_end", "event", "waits_for"),
            **_words(story.rows, "change", "input", "source", "fate", "reason"),
            **_origins(story.rows),
            "key": integers(key_numbers[row.key] for row in story.rows),
            "kind": integers(kinds),
            "lane": integers(_event_lanes(story.rows, kinds)),
            "values": values([row.values for row in story.rows]),
        },
        "changes": {
            **_integers(story.changes, "batch", "result", "start", "end", "new_end", "firing"),
            **_words(story.changes, "change", "window_name"),
            "key": integers(key_numbers[change.key] for change in story.changes),
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
        "upstream": [packed(upstream_story) for upstream_story in story.upstream],
    }


def _keys(story: Story) -> list[tuple[Any, ...] | None]:
    """Return the distinct keys of a story in order, first None if rows without a key are among them."""
    distinct = dict.fromkeys(row.key for row in story.rows)
    distinct |= dict.fromkeys(change.key for change in story.changes)
    keys = [key for key in distinct if key is not None]
    try:
        keys.sort()
    except TypeError:  # a null in a key, or columns of types that have no order
        keys.sort(key=str)
    return [None, *keys] if None in distinct else [*keys]


def _integers(records: Sequence[Any], *attributes: str) -> dict[str, Any]:
    """Return attributes of records as columns of integers and nulls, by their names."""
    columns: dict[str, Any] = {}
    for attribute in attributes:
        columns[attribute] = integers(getattr(record, attribute) for record in records)
    return columns


def _words(records: Sequence[Any], *attributes: str) -> dict[str, Any]:
    """Return attributes of records as columns of values that repeat, by their names."""
    columns: dict[str, Any] = {}
    for attribute in attributes:
        columns[attribute] = words([getattr(record, attribute) for record in records])
    return columns


def _origins(rows: Sequence[StoryRow]) -> dict[str, Any]:
    """Return for each row the query and the number of the change that it is; no columns where no row is a result."""
    if not any(row.origin for row in rows):
        return {}
    return {
        "origin": integers(row.origin and row.origin[0] for row in rows),
        "origin_change": integers(row.origin and row.origin[1] for row in rows),
    }


def _kind(row: StoryRow) -> int:
    """Return the part of a row in the picture: a bar, a change of a bar, or a mark."""
    if row.fate != "counted" or row.start is None:
        return OTHER
    if row.event is None:
        return EVENT if row.change == "insert" else OTHER
    return EVENT if row.event == row.number else CHANGE


def _event_lanes(rows: Sequence[StoryRow], kinds: Sequence[int]) -> list[int]:
    """Return the lane of each event among the events of its key; the lanes of one input lie together."""
    ends = _latest_ends(rows, kinds)
    events: dict[Any, dict[str, list[StoryRow]]] = defaultdict(lambda: defaultdict(list))  # by key and input
    for row, kind in zip(rows, kinds, strict=True):
        if kind == EVENT:
            events[row.key][row.input].append(row)
    lanes = [0] * len(rows)
    for events_by_input in events.values():
        first_lane = 0  # the lanes of each input begin below those of the input before it
        for _, input_events in sorted(events_by_input.items()):
            input_lanes = lanes_of([(row.start or 0, ends[row.number]) for row in input_events])
            for row, lane in zip(input_events, input_lanes, strict=True):
                lanes[row.number] = first_lane + lane
            first_lane += max(input_lanes) + 1
    return lanes


def _latest_ends(rows: Sequence[StoryRow], kinds: Sequence[int]) -> dict[int, int]:
    """Return the latest end of each event, by its number.

    An event whose end is open at first counts with the end that it gets later.
    """
    ends: dict[int, int] = {}
    for row, kind in zip(rows, kinds, strict=True):
        if kind == EVENT:
            ends[row.number] = _end(row.start, row.end)
        elif kind == CHANGE and row.event is not None and row.new_end is not None:
            previous = ends.get(row.event, row.new_end)
            # The bar has room for each end that the event ever had.
            ends[row.event] = row.new_end if previous == INFINITY else max(previous, row.new_end)
    return ends


def _result_lanes(changes: Sequence[StoryChange]) -> tuple[list[int], list[int | None]]:
    """Place insertions among the results of their key and kind of window.

    A result takes the place of a retracted one, which it hides from then on.

    Returns:
        The lane of each change, and the number of the change that hides it later.
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
    hidden_by: list[int | None] = [None] * len(changes)
    for stack in stacks.values():
        for number, hiding_number in stack.hidden_by.items():
            hidden_by[number] = hiding_number
    return lanes, hidden_by


def _end(start: int | None, end: int | None) -> int:
    """Return the end of a bar; a bar without an end is one tick long."""
    return (start or 0) + 1 if end is None else end
