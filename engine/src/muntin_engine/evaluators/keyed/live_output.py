"""Output that is live, emitted and not retracted, and the changes that make it what it should be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from muntin import Window
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import OutputChange, OutputKind, Timing


class OutputRow(NamedTuple):
    """One row of a window's output, with its lifetime."""

    start: int
    end: int
    value: Any


class LiveRow(NamedTuple):
    """An output event that has been emitted and not retracted."""

    id: int
    row: OutputRow

    def change(
        self,
        kind: OutputKind,
        window: Window,
        new_end: int | None = None,
        timing: Timing = Timing.FINAL,
        firing: int = 0,
    ) -> OutputChange:
        """Return a change of the event in the output."""
        return OutputChange(kind, self.id, window, *self.row, new_end, timing, firing)


def replace_rows(
    window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows by its new rows; return the rows that are live then, and the output changes.

    A row that is live already keeps its id and causes no change; other live rows are retracted in full.
    """
    unchanged, obsolete, missing = _match(live, rows)
    added = [LiveRow(next_id(), row) for row in missing]
    changes = [live_row.change(OutputKind.RETRACT, window) for live_row in obsolete]
    changes += [live_row.change(OutputKind.INSERT, window) for live_row in added]
    return unchanged + added, changes


def replace_rows_from(
    since: int, window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows from a tick on: output before it stays, and rows across it are shortened."""
    past: list[LiveRow] = []
    reaching: dict[int, LiveRow] = {}
    for live_row in live:
        if live_row.row.end <= since:
            past.append(live_row)
        else:
            reaching[live_row.id] = live_row

    # Only the parts from the tick on are compared.
    live_parts = [LiveRow(live_row.id, _part_from(since, live_row.row)) for live_row in reaching.values()]
    new_parts = [_part_from(since, row) for row in rows if row.end > since]
    unchanged_parts, obsolete_parts, missing = _match(live_parts, new_parts)

    remaining = past + [reaching[part.id] for part in unchanged_parts]
    changes: list[OutputChange] = []
    for part in obsolete_parts:
        live_row = reaching[part.id]
        if live_row.row.start < since:
            remaining.append(LiveRow(live_row.id, live_row.row._replace(end=since)))
            changes.append(live_row.change(OutputKind.REVISE, window, since))
        else:
            changes.append(live_row.change(OutputKind.RETRACT, window))
    for row in missing:
        added = LiveRow(next_id(), row)
        remaining.append(added)
        changes.append(added.change(OutputKind.INSERT, window))
    return remaining, changes


def _part_from(since: int, row: OutputRow) -> OutputRow:
    """Return the part of a row from a tick on."""
    return row._replace(start=max(row.start, since))


def netted(changes: list[OutputChange], *, revises: bool = False) -> tuple[list[OutputChange], dict[int, int]]:
    """Net the changes of a micro-batch, whichever parts of a key they come from: rows that are there throughout stay.

    Args:
        changes: Insertions and retractions.
        revises: True to revise a row that goes to the end of one that comes, where they differ in their ends alone.

    Returns:
        The other changes; and by the id of each insertion that is left out, the id of the row that is live instead.
    """
    if all(change.kind is OutputKind.INSERT for change in changes):
        return changes, {}
    # Retractions by row without its end, then by end.
    retractions: dict[Hashable, dict[int, list[OutputChange]]] = {}
    insertions: list[tuple[Hashable, OutputChange]] = []
    for change in changes:
        row: Hashable = (change.start, freeze(change.value), change.timing, change.firing, revises or change.window)
        if change.kind is OutputKind.RETRACT:
            retractions.setdefault(row, {}).setdefault(change.end, []).append(change)
        else:
            insertions.append((row, change))

    # An insertion and a retraction of equal rows cancel out.
    stays: dict[int, int] = {}
    new_rows: list[tuple[Hashable, OutputChange]] = []
    for row, insertion in insertions:
        by_end = retractions.get(row)
        equal_rows = by_end.get(insertion.end) if by_end else None
        if equal_rows:
            stays[insertion.id] = equal_rows.pop().id
        else:
            new_rows.append((row, insertion))

    gone_rows: dict[Hashable, list[OutputChange]] = {}
    for row, by_end in retractions.items():
        gone_rows[row] = list(chain.from_iterable(by_end.values()))
    additions: list[OutputChange] = []
    for row, insertion in new_rows:
        other_ends = gone_rows.get(row) if revises else None
        if other_ends:
            revised = other_ends.pop()
            stays[insertion.id] = revised.id
            additions.append(revised._replace(kind=OutputKind.REVISE, new_end=insertion.end))
        else:
            additions.append(insertion)
    return [*chain.from_iterable(gone_rows.values()), *additions], stays


def _match(live: Iterable[LiveRow], rows: Iterable[OutputRow]) -> tuple[list[LiveRow], list[LiveRow], list[OutputRow]]:
    """Return the live rows that equal a new row, those that do not, and the new rows that are not live."""
    live_by_row: dict[Hashable, list[LiveRow]] = {}
    for live_row in live:
        live_by_row.setdefault(_identity(live_row.row), []).append(live_row)
    unchanged: list[LiveRow] = []
    missing: list[OutputRow] = []
    for row in rows:
        equal_rows = live_by_row.get(_identity(row)) if live_by_row else None
        if equal_rows:
            unchanged.append(equal_rows.pop())
        else:
            missing.append(row)
    obsolete = list(chain.from_iterable(live_by_row.values()))
    return unchanged, obsolete, missing


def _identity(row: OutputRow) -> Hashable:
    return row.start, row.end, freeze(row.value)
