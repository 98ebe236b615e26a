"""The story of a recording: its rows and what became of them, its results and what made them, in micro-batches.

It is plain data: what tells it knows nothing of who shows it. Times are ticks, which `Story.axis` spells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from muntin import Axis
from muntin.axis import AnyAxis


class Fate(StrEnum):
    """What became of a row."""

    COUNTED = "counted"
    """It is an event, or changed one, or moved the watermark."""
    FILTERED = "filtered"
    """A condition of the query leaves it out."""
    LATE = "late"
    """It came behind the watermark."""
    REJECTED = "rejected"
    """It cannot be what it says: no time, an id that is taken, an end before its start."""
    SHED = "shed"
    """Its key held as many events as the query allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRow:
    """One row of the input.

    Attributes:
        number: Its place among all rows of the recording, in the order in which they came.
        batch: The number of its micro-batch.
        key: Its key; None for a row of no single key, as punctuation of all.
        change: What it does: `insert`, `revise`, `retract`, `punctuate`, ..., as in the column `change`.
        input: The name of its input, where the query has several.
        source: Its source, where its input has several.
        start: The start of its event, or the time that it speaks of; None where that cannot be read.
        end: The end of its event; None where it has none to say. `INFINITY` if it has not ended.
        new_end: The end from now on, where it revises or retracts.
        values: The columns that modules read, by the names they have in the query.
        fate: What became of it.
        reason: Why, in a sentence, unless it counted.
        event: The number of the row that brought the event which it changes; its own where it brings one. None where
            it speaks of no event, or of one that nobody knows.
        waits_for: The watermark that would close the first open window that it is in; None where it is in none.
        origin: The result that it is, where it is one of another query: the place of that query in `Story.before`, and
            the number of the change there.
    """

    number: int
    batch: int
    key: tuple[Any, ...] | None
    change: str
    input: str = ""
    source: str | None = None
    start: int | None = None
    end: int | None = None
    new_end: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    fate: Fate = Fate.COUNTED
    reason: str = ""
    event: int | None = None
    waits_for: int | None = None
    origin: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryChange:
    """One change of the results.

    Attributes:
        number: Its place among all changes of the recording.
        batch: The number of the micro-batch in which it came.
        key: The key of the result.
        change: `insert`, `revise` or `retract`.
        result: The number of the insertion of the result that it changes; its own where it inserts.
        window: Start and end of the window; None where the query has none.
        window_name: The name of the window's specification, where the query has several.
        start: The start of the result's lifetime.
        end: Its end; where it is revised or retracted, the one so far.
        new_end: The end from now on, where it is revised.
        values: The result, by column.
        is_early: True if the window was still open and the query emits early results.
        firing: How many results of the window came before it, where the query emits early results.
        members: The numbers of the rows that are in it: leave one out, and a module gets other values.
        bounds: The numbers of the rows that are not, and set where the window begins or ends.
        trigger: The numbers of the rows of this micro-batch that brought the change about: the watermark that closed
            the window, or the row that revised it.
    """

    number: int
    batch: int
    key: tuple[Any, ...]
    change: str
    result: int
    window: tuple[int, int] | None = None
    window_name: str = ""
    start: int
    end: int
    new_end: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    is_early: bool = False
    firing: int = 0
    members: Sequence[int] = ()
    bounds: Sequence[int] = ()
    trigger: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryBatch:
    """One micro-batch.

    Attributes:
        number: Its number, as Spark counts.
        run: Which run of the query it is of: 0 before the first restart.
        rows: How many rows it brought.
        watermark: The watermark after it; `EARLIEST` where nothing has said one.
        newest: The largest start of an event so far.
        held_by: The sources, or inputs, that are behind the others and so hold the watermark back; None if none are.
    """

    number: int
    run: int
    rows: int
    watermark: int
    newest: int
    held_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A recording, told.

    Attributes:
        title: The query in a line: its windows and its key.
        plan: What `explain()` says of it.
        key_names: The columns of the key.
        axis: The axis of its times, which spells ticks.
        batches: Its micro-batches in order.
        rows: Its rows, each at the place of its number.
        changes: The changes of its results, each at the place of its number.
        notes: What a reader must know of it: what it cannot tell, say.
        before: The stories of the queries whose results are among its rows, each after those that it reads itself.
    """

    title: str
    plan: str
    key_names: Sequence[str]
    axis: AnyAxis = Axis.TICKS
    batches: Sequence[StoryBatch] = ()
    rows: Sequence[StoryRow] = ()
    changes: Sequence[StoryChange] = ()
    notes: Sequence[str] = ()
    before: Sequence[Story] = ()


def without_earlier(changes: Sequence[StoryChange], since: int) -> list[StoryChange]:
    """Return the changes of results that begin after a tick, with their places as numbers."""
    kept = [change for change in changes if (change.window or (change.start,))[0] > since]
    places = {change.number: place for place, change in enumerate(kept)}
    return [replace(one, number=places[one.number], result=places[one.result]) for one in kept]
