"""Output that is live, emitted and not retracted, and the changes that make it what it should be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from muntin import Window
from muntin_engine.core.changes import OutputChange, OutputKind, Timing
from muntin_engine.core.frozen_values import freeze


class OutputRow(NamedTuple):
    """One row of a window's output, with its lifetime."""

    start: int
    end: int
    value: Any

    @property
    def lifetime(self) -> Window:
        """Its lifetime, as the window of a row that has no other."""
        return Window(self.start, self.end)


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


def revise_rows(
    live: Sequence[LiveRow], rows: Sequence[OutputRow], next_id: Callable[[], int]
) -> tuple[list[int], list[OutputChange]]:
    """Replace live rows that have no window; return the id of each new row, and the output changes.

    A row that is live already keeps its id and causes no change. One that differs in its end alone is revised. Other
    live rows are retracted, and other new ones inserted.
    """
    found: list[LiveRow | None] = [None] * len(rows)
    output: list[OutputChange] = []
    for identity in (_identity, _beginning) if live else ():
        alike: dict[Hashable, list[LiveRow]] = {}
        for out in live:
            alike.setdefault(identity(out.row), []).append(out)
        for place, row in enumerate(rows):
            if found[place] is None and (same := alike.get(identity(row))):
                found[place] = out = same.pop()
                if out.row.end != row.end:
                    output.append(out.change(OutputKind.REVISE, out.row.lifetime, row.end))
        live = [out for rest in alike.values() for out in rest]
    output += [out.change(OutputKind.RETRACT, out.row.lifetime) for out in live]
    ids = [next_id() if out is None else out.id for out in found]
    new = (LiveRow(id, row) for id, row, out in zip(ids, rows, found, strict=True) if out is None)
    output += [out.change(OutputKind.INSERT, out.row.lifetime) for out in new]
    return ids, output


def without_undone(output: Iterable[OutputChange]) -> tuple[list[OutputChange], dict[int, int]]:
    """Leave out the pairs of a retraction and an insertion of equal rows, whichever parts of a key they come from.

    Returns:
        The other changes; and by the id of each insertion that is left out, the id of the row that stays instead.
    """
    changes = list(output)
    gone: dict[Hashable, list[OutputChange]] = {}
    for change in changes:
        if change.kind is OutputKind.RETRACT:
            gone.setdefault(_content(change), []).append(change)
    stays: dict[int, int] = {}
    for change in changes if gone else ():
        if change.kind is OutputKind.INSERT and (same := gone.get(_content(change))):
            stays[change.id] = same.pop().id
    undone = {*stays, *stays.values()}
    return [change for change in changes if change.id not in undone], stays


def _content(change: OutputChange) -> Hashable:
    row = OutputRow(change.start, change.end, change.value)
    return change.window, _identity(row), change.timing, change.firing


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


def _beginning(row: OutputRow) -> Hashable:
    return row.start, freeze(row.value)
