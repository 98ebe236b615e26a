"""Replace the live rows of a window: emit and retract only what differs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from muntin import Window
from muntin_engine.core.changes import OutputChange, OutputKind
from muntin_engine.core.frozen_values import freeze
from muntin_engine.evaluators.general.computation import OutputRow
from muntin_engine.evaluators.general.window_index import LiveRow


def replace_rows(
    window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Return the live rows once a window's rows are these, and the changes that lead there.

    A row that is live already keeps its id and causes no change; the others are retracted in full.
    """
    kept, obsolete, missing = _match(live, rows)
    changes = [_retraction(window, out) for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    return kept + added, changes + [_insertion(window, out) for out in added]


def replace_rows_from(
    since: int, window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Do the same from a tick on: output before it stays live, and rows are shortened instead of retracted."""
    wanted = [OutputRow(max(row.start, since), row.end, row.value) for row in rows if row.end > since]
    past = [out for out in live if out.row.end <= since]
    reaching = {out.id: out for out in live if out.row.end > since}
    kept, obsolete, missing = _match((_from(since, out) for out in reaching.values()), wanted)
    ended = [reaching[out.id] for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    left = [*past, *(reaching[out.id] for out in kept), *(_until(since, out) for out in ended if out.row.start < since)]
    return left + added, [_end_at(since, window, out) for out in ended] + [_insertion(window, out) for out in added]


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


def _from(since: int, out: LiveRow) -> LiveRow:
    return LiveRow(out.id, out.row._replace(start=max(out.row.start, since)))


def _until(end: int, out: LiveRow) -> LiveRow:
    return LiveRow(out.id, out.row._replace(end=end))


def _end_at(end: int, window: Window, out: LiveRow) -> OutputChange:
    if out.row.start >= end:
        return _retraction(window, out)
    return OutputChange(OutputKind.REVISE, out.id, window, out.row.start, out.row.end, out.row.value, end)


def _retraction(window: Window, out: LiveRow) -> OutputChange:
    return OutputChange(OutputKind.RETRACT, out.id, window, out.row.start, out.row.end, out.row.value)


def _insertion(window: Window, out: LiveRow) -> OutputChange:
    return OutputChange(OutputKind.INSERT, out.id, window, out.row.start, out.row.end, out.row.value)
