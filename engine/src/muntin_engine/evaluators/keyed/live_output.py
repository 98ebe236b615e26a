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
        """Return a change of this event in the output.

        Args:
            kind: The kind of the change.
            window: The window whose row it is.
            new_end: The end that a revision gives the event.
            timing: The time of the result: early or final.
            firing: The number of earlier firings of the window; 0 without early results.
        """
        return OutputChange(kind, self.id, window, *self.row, new_end=new_end, timing=timing, firing=firing)


def replace_rows(
    window: Window, live_rows: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows by its new rows; return the rows that are live then, and the output changes.

    A row that is live already keeps its id and causes no change; other live rows are retracted in full.
    """
    matched = _match(live_rows, rows)
    inserted_rows = [LiveRow(next_id(), row) for row in matched.new_rows]
    changes = [live_row.change(OutputKind.RETRACT, window) for live_row in matched.obsolete]
    changes += [inserted_row.change(OutputKind.INSERT, window) for inserted_row in inserted_rows]
    return matched.unchanged + inserted_rows, changes


def replace_rows_from(
    since: int, window: Window, live_rows: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows from a tick on; return the rows that are live then, and the output changes.

    Output before the tick stays as it is. A live row that covers the tick and is not among the new rows ends there.

    Args:
        since: The tick from which on rows are replaced.
        window: The window.
        live_rows: The live rows of the window.
        rows: The new rows of the window.
        next_id: Returns a new id for an output event.
    """
    past_rows: list[LiveRow] = []
    rows_by_id: dict[int, LiveRow] = {}
    for live_row in live_rows:
        if live_row.row.end <= since:
            past_rows.append(live_row)
        else:
            rows_by_id[live_row.id] = live_row

    # Only the parts from the tick on are compared.
    live_parts = [LiveRow(live_row.id, _part_from(since, live_row.row)) for live_row in rows_by_id.values()]
    new_parts = [_part_from(since, row) for row in rows if row.end > since]
    matched = _match(live_parts, new_parts)

    # Obsolete rows end at the tick, or are retracted if they start there or later; then the new rows are inserted.
    rows_then_live = past_rows + [rows_by_id[part.id] for part in matched.unchanged]
    changes: list[OutputChange] = []
    for part in matched.obsolete:
        live_row = rows_by_id[part.id]
        if live_row.row.start < since:
            rows_then_live.append(LiveRow(live_row.id, live_row.row._replace(end=since)))
            changes.append(live_row.change(OutputKind.REVISE, window, new_end=since))
        else:
            changes.append(live_row.change(OutputKind.RETRACT, window))
    for row in matched.new_rows:
        inserted_row = LiveRow(next_id(), row)
        rows_then_live.append(inserted_row)
        changes.append(inserted_row.change(OutputKind.INSERT, window))
    return rows_then_live, changes


def _part_from(since: int, row: OutputRow) -> OutputRow:
    """Return the part of a row from a tick on."""
    return row._replace(start=max(row.start, since))


def netted(changes: list[OutputChange], *, revises: bool = False) -> tuple[list[OutputChange], dict[int, int]]:
    """Net the changes of a key in a micro-batch: a row that is retracted and inserted again stays as it is.

    Args:
        changes: Insertions and retractions, of any windows of the key.
        revises: True if a retracted row and an inserted row that differ in their ends alone become one revision, also
            if they are of different windows.

    Returns:
        The net changes; and by the id of each insertion that is left out, the id of the row that is live instead.
    """
    if all(change.kind is OutputKind.INSERT for change in changes):
        return changes, {}

    # Retractions are looked up by all that makes a row but its end, then by its end.
    retractions: dict[Hashable, dict[int, list[OutputChange]]] = {}
    insertions: list[tuple[Hashable, OutputChange]] = []
    for change in changes:
        row_but_end: Hashable = (change.start, freeze(change.value), change.timing, change.firing)
        if not revises:
            row_but_end = (row_but_end, change.window)
        if change.kind is OutputKind.RETRACT:
            retractions.setdefault(row_but_end, {}).setdefault(change.end, []).append(change)
        else:
            insertions.append((row_but_end, change))

    # An insertion and a retraction of equal rows cancel out.
    live_ids: dict[int, int] = {}
    new_rows: list[tuple[Hashable, OutputChange]] = []
    for row_but_end, insertion in insertions:
        retractions_by_end = retractions.get(row_but_end, {})
        equal_retractions = retractions_by_end.get(insertion.end)
        if equal_retractions:
            live_ids[insertion.id] = equal_retractions.pop().id
        else:
            new_rows.append((row_but_end, insertion))

    # Where revisions are allowed, a retraction and an insertion that differ in their ends become one revision.
    net_retractions: dict[Hashable, list[OutputChange]] = {}
    for row_but_end, retractions_by_end in retractions.items():
        net_retractions[row_but_end] = list(chain.from_iterable(retractions_by_end.values()))
    additions: list[OutputChange] = []
    for row_but_end, insertion in new_rows:
        retractions_with_other_end = net_retractions.get(row_but_end) if revises else None
        if retractions_with_other_end:
            retraction = retractions_with_other_end.pop()
            live_ids[insertion.id] = retraction.id
            additions.append(retraction._replace(kind=OutputKind.REVISE, new_end=insertion.end))
        else:
            additions.append(insertion)
    return [*chain.from_iterable(net_retractions.values()), *additions], live_ids


class _MatchedRows(NamedTuple):
    """Live rows beside the new rows of a window.

    Attributes:
        unchanged: The live rows that equal a new row.
        obsolete: The live rows that equal none.
        new_rows: The new rows that are not live.
    """

    unchanged: list[LiveRow]
    obsolete: list[LiveRow]
    new_rows: list[OutputRow]


def _match(live_rows: Iterable[LiveRow], rows: Iterable[OutputRow]) -> _MatchedRows:
    """Match each new row with a live row that equals it; a live row matches one new row at most."""
    live_by_row: dict[Hashable, list[LiveRow]] = {}
    for live_row in live_rows:
        live_by_row.setdefault(_identity(live_row.row), []).append(live_row)
    unchanged: list[LiveRow] = []
    new_rows: list[OutputRow] = []
    for row in rows:
        equal_rows = live_by_row.get(_identity(row)) if live_by_row else None
        if equal_rows:
            unchanged.append(equal_rows.pop())
        else:
            new_rows.append(row)
    obsolete = list(chain.from_iterable(live_by_row.values()))
    return _MatchedRows(unchanged, obsolete, new_rows)


def _identity(row: OutputRow) -> Hashable:
    """Return a key that is equal for equal rows."""
    return row.start, row.end, freeze(row.value)
