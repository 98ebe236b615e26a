"""The story of a recording: its rows and their fates, its results and their causes, micro-batch by micro-batch.

It is plain data, for programs that show it in any way. Times are ticks, which `Story.axis` spells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from muntin import Axis
from muntin.axis import AnyAxis

if TYPE_CHECKING:
    from muntin_engine.recording.missing_rows import MissingRows


class Fate(StrEnum):
    """The fate of a row: counted, or why not."""

    COUNTED = "counted"
    """The row is an event, or changed one, or moved the watermark."""
    FILTERED = "filtered"
    """A condition of the query leaves the row out."""
    LATE = "late"
    """The row came behind the watermark."""
    REJECTED = "rejected"
    """The row makes no sense: no time, an id that is taken, an end before its start."""
    SHED = "shed"
    """The key held as many events as the query allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRow:
    """One row of the input.

    Attributes:
        number: The place of the row among all rows of the recording, in the order in which they came.
        batch: The number of the micro-batch.
        key: The key; None for a row of no single key, such as punctuation of all keys.
        change: The kind of the change: `insert`, `revise`, `retract`, `punctuate`, ..., as in the column `change`.
        input: The name of the input, where the query has several.
        source: The source, where the input has several.
        start: The start of the event, or the time that the row speaks of; None where that cannot be read.
        end: The end of the event; None where the row does not say it. `INFINITY` if it has not ended.
        new_end: The end from now on, where the row revises or retracts.
        values: The columns that modules read, by the names they have in the query.
        fate: The fate of the row.
        reason: The reason in a sentence, unless the row counted.
        event: The number of the row that inserted the event which this row inserts or changes. None if the row is about
            no event, or about an unknown one.
        waits_for: The watermark that would close the first open window of the row; None if no window of it is open.
        origin: If the row is a result of another query, the place of that query in `Story.upstream`, and the number of
            the change in its story. None otherwise.
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
        number: The place of the change among all changes of the recording.
        batch: The number of the micro-batch in which it came.
        key: The key of the result.
        change: `insert`, `revise` or `retract`.
        result: The number of the change that inserted the result; an insertion has its own number here.
        window: Start and end of the window; None where the query has none.
        window_name: The name of the window's specification, where the query has several.
        start: The start of the result's lifetime.
        end: The end of the result's lifetime; for a revision or a retraction, the end before it.
        new_end: The end after a revision.
        values: The result, by column.
        is_early: True if the window was still open and the query emits early results.
        firing: The number of earlier results of the window, where the query emits early results.
        members: The numbers of the rows that the result was computed from.
        bounds: The numbers of the other rows that set where the window of the result begins or ends.
        trigger: The numbers of the rows of this micro-batch that led to the change: its members and bounds among them;
            if there are none, the row that moved the watermark, which closed the window.
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
        number: The number of the micro-batch, as Spark counts.
        run: The number of restarts of the query before it.
        rows: The number of rows in it.
        watermark: The watermark after it; `EARLIEST` if there is none yet.
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
    """The story of a recording.

    Attributes:
        title: The query in a line: its windows and its key.
        plan: The text of `explain()`.
        key_names: The columns of the key.
        axis: The axis of its times, which spells ticks.
        batches: The micro-batches in order.
        rows: The rows, each at the place of its number.
        changes: The changes of the results, each at the place of its number.
        notes: The caveats that a reader must know: which rows are not in the recording, say.
        upstream: The stories of the upstream queries, whose results are among its rows. Each comes after those that it
            reads itself.
    """

    title: str
    plan: str
    key_names: Sequence[str]
    axis: AnyAxis = Axis.TICKS
    batches: Sequence[StoryBatch] = ()
    rows: Sequence[StoryRow] = ()
    changes: Sequence[StoryChange] = ()
    notes: Sequence[str] = ()
    upstream: Sequence[Story] = ()


def without_incomplete(changes: Sequence[StoryChange], missing: MissingRows) -> list[StoryChange]:
    """Leave out the changes of results that rows may belong to which are missing, and number the other changes anew.

    Args:
        changes: All changes, in the order of their numbers.
        missing: The missing rows.
    """
    later_changes: list[StoryChange] = []
    for change in changes:
        start = change.start if change.window is None else change.window[0]
        if not missing.may_count(change.key, start):
            later_changes.append(change)

    # A change refers to the insertion of its result by number. The insertion begins at the same tick, so it is kept
    # too.
    new_numbers = {change.number: number for number, change in enumerate(later_changes)}
    renumbered_changes: list[StoryChange] = []
    for change in later_changes:
        number = new_numbers[change.number]
        renumbered_changes.append(replace(change, number=number, result=new_numbers[change.result]))
    return renumbered_changes
