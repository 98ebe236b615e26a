"""Comparing what stands with what should stand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import astuple, is_dataclass
from typing import Any

from muntin import Window
from muntin_engine.core.changes import OutputChange, OutputKind
from muntin_engine.core.computation import OutputRow
from muntin_engine.core.window_index import StandingRow


def replace_rows(
    window: Window, standing: list[StandingRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[StandingRow], list[OutputChange]]:
    """Return what stands once a window's rows are these, and the changes that bring it there.

    A row that stands already keeps its id and causes no change; the others are retracted in full.
    """
    kept, obsolete, missing = _match(standing, rows)
    changes = [_retraction(window, out) for out in obsolete]
    added = [StandingRow(next_id(), row) for row in missing]
    return kept + added, changes + [_insertion(window, out) for out in added]


def replace_rows_from(
    since: int, window: Window, standing: list[StandingRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[StandingRow], list[OutputChange]]:
    """Do the same from a tick on: what lies before it stays, and is shortened instead of retracted (B6 item 5)."""
    wanted = [OutputRow(max(row.start, since), row.end, row.value) for row in rows if row.end > since]
    past = [out for out in standing if out.row.end <= since]
    reaching = [out for out in standing if out.row.end > since]
    from_since = [StandingRow(out.id, OutputRow(max(out.row.start, since), *_rest(out.row))) for out in reaching]
    whole = {out.id: out for out in reaching}
    kept, obsolete, missing = _match(from_since, wanted)
    shortened = [_shorten(whole[out.id], since) for out in obsolete if whole[out.id].row.start < since]
    changes = [_end_at(window, whole[out.id], since) for out in obsolete]
    added = [StandingRow(next_id(), row) for row in missing]
    left = past + [whole[out.id] for out in kept] + shortened + added
    return left, changes + [_insertion(window, out) for out in added]


def freeze(value: Any) -> Hashable:
    """Return a hashable stand-in for a value; NaN equals NaN, and 1, 1.0 and True differ."""
    if isinstance(value, float) and value != value:
        return "float", "nan"
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, freeze(astuple(value))
    if isinstance(value, Mapping):
        return "mapping", frozenset((freeze(name), freeze(item)) for name, item in value.items())
    if isinstance(value, set | frozenset):
        return "set", frozenset(freeze(item) for item in value)
    if isinstance(value, list | tuple):
        return "sequence", tuple(freeze(item) for item in value)
    return type(value).__name__, value


def _match(
    standing: Iterable[StandingRow], rows: Iterable[OutputRow]
) -> tuple[list[StandingRow], list[StandingRow], list[OutputRow]]:
    by_row: dict[Hashable, list[StandingRow]] = {}
    for out in standing:
        by_row.setdefault(_identity(out.row), []).append(out)
    kept, missing = [], []
    for row in rows:
        same = by_row.get(_identity(row))
        if same:
            kept.append(same.pop())
        else:
            missing.append(row)
    return kept, [out for rest in by_row.values() for out in rest], missing


def _identity(row: OutputRow) -> Hashable:
    return row.start, row.end, freeze(row.value)


def _rest(row: OutputRow) -> tuple[int, Any]:
    return row.end, row.value


def _shorten(out: StandingRow, end: int) -> StandingRow:
    return StandingRow(out.id, OutputRow(out.row.start, end, out.row.value))


def _end_at(window: Window, out: StandingRow, end: int) -> OutputChange:
    if out.row.start >= end:
        return _retraction(window, out)
    return OutputChange(OutputKind.REVISE, out.id, window, out.row.start, out.row.end, out.row.value, end)


def _retraction(window: Window, out: StandingRow) -> OutputChange:
    return OutputChange(OutputKind.RETRACT, out.id, window, out.row.start, out.row.end, out.row.value)


def _insertion(window: Window, out: StandingRow) -> OutputChange:
    return OutputChange(OutputKind.INSERT, out.id, window, out.row.start, out.row.end, out.row.value)
