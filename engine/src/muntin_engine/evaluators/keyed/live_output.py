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
        """Return a change of it, as the output has it."""
        return OutputChange(kind, self.id, window, *self.row, new_end, timing, firing)


def replace_rows(
    window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows by its new rows; return the rows that are live then, and the output changes.

    A row that is live already keeps its id and causes no change; other live rows are retracted in full.
    """
    kept, obsolete, missing = _match(live, rows)
    changes = [out.change(OutputKind.RETRACT, window) for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    return kept + added, changes + [out.change(OutputKind.INSERT, window) for out in added]


def replace_rows_from(
    since: int, window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Replace a window's live rows from a tick on: output before it stays, and rows across it are shortened."""
    wanted = [OutputRow(max(row.start, since), row.end, row.value) for row in rows if row.end > since]
    past = [out for out in live if out.row.end <= since]
    reaching = {out.id: out for out in live if out.row.end > since}
    rest = (LiveRow(out.id, out.row._replace(start=max(out.row.start, since))) for out in reaching.values())
    kept, obsolete, missing = _match(rest, wanted)
    ended = [reaching[out.id] for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    shortened = (LiveRow(out.id, out.row._replace(end=since)) for out in ended if out.row.start < since)
    left = [*past, *(reaching[out.id] for out in kept), *shortened]
    changes = [
        out.change(OutputKind.REVISE, window, since)
        if out.row.start < since
        else out.change(OutputKind.RETRACT, window)
        for out in ended
    ]
    return left + added, changes + [out.change(OutputKind.INSERT, window) for out in added]


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
    gone: dict[Hashable, dict[int, list[OutputChange]]] = {}
    came: list[tuple[Hashable, OutputChange]] = []
    for change in changes:
        row: Hashable = (change.start, freeze(change.value), change.timing, change.firing, revises or change.window)
        if change.kind is OutputKind.RETRACT:
            gone.setdefault(row, {}).setdefault(change.end, []).append(change)
        else:
            came.append((row, change))
    stays: dict[int, int] = {}
    new: list[tuple[Hashable, OutputChange]] = []
    for row, change in came:
        if (ends := gone.get(row)) and (same := ends.get(change.end)):
            stays[change.id] = same.pop().id
        else:
            new.append((row, change))
    left = {row: list(chain(*ends.values())) for row, ends in gone.items()}
    output: list[OutputChange] = []
    for row, change in new:
        if revises and (alike := left.get(row)):
            old = alike.pop()
            stays[change.id] = old.id
            output.append(old._replace(kind=OutputKind.REVISE, new_end=change.end))
        else:
            output.append(change)
    return [*chain(*left.values()), *output], stays


def _match(live: Iterable[LiveRow], rows: Iterable[OutputRow]) -> tuple[list[LiveRow], list[LiveRow], list[OutputRow]]:
    """Return the live rows that are wanted, those that are not, and the wanted rows that are not live."""
    by_row: dict[Hashable, list[LiveRow]] = {}
    for out in live:
        by_row.setdefault(_identity(out.row), []).append(out)
    kept: list[LiveRow] = []
    missing: list[OutputRow] = []
    for row in rows:
        same = by_row.get(_identity(row)) if by_row else None
        if same:
            kept.append(same.pop())
        else:
            missing.append(row)
    return kept, [out for rest in by_row.values() for out in rest], missing


def _identity(row: OutputRow) -> Hashable:
    return row.start, row.end, freeze(row.value)
