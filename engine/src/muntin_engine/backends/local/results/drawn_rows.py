"""The rows of one key with the windows that they are in, as a picture of a query over a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY, Axis
from muntin.drawings import Bar, Drawing, Look
from muntin.errors import MuntinError
from muntin.pictures import Picture
from muntin_engine.backends.local.inputs.local_rows import LocalRows, micro_batch_of
from muntin_engine.backends.local.results.local_results import output_table, selected
from muntin_engine.backends.planned_query import CHANGES
from muntin_engine.tasks.output_blobs import RESULTS
from muntin_engine.wire.times import as_ticks

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

MOST_ROWS: Final = 1000
"""The number of rows up to which a query is run for its picture: that takes less than a moment."""

_MOST_DRAWN: Final = 12
"""The number of rows, and of windows, of a key up to which a picture shows all of them."""

_LONGEST: Final = 24
"""The number of characters to which a picture cuts a value."""


def picture_of(query: PlannedQuery) -> Picture | None:
    """Draw the rows of one key with their windows and results; None if no picture of the query can be drawn quickly.

    The query needs one input: a table in memory with a few rows, whose events do not change. The key is the first one
    with few rows and windows. A query that fails has no picture: `results()` says why.
    """
    rows = query.source.df
    if not isinstance(rows, LocalRows) or not _can_be_drawn(query, rows):
        return None
    try:
        input_table = pa.Table.from_batches(rows.batches(), rows.schema)
        if "kept" in input_table.column_names:  # whether a row meets the conditions of the query
            input_table = input_table.filter(input_table["kept"])
        # Of the selection, only the condition on results is applied: the selected columns may lack the windows.
        condition_alone = replace(query.selection, columns={})
        # A few rows need no workers. Warnings about rows are for `results()`, and not for a look at the query.
        all_results = output_table(replace(query, workers=1), RESULTS, warns=False)
        result_table = selected(all_results, condition_alone)
    except MuntinError:
        return None
    for key in _keys_in(query, input_table):
        key_rows = _rows_of_key(input_table, [f"k{place}" for place in range(len(key))], key)
        key_results = _rows_of_key(result_table, [column.name for column in query.plan.keys], key)
        if len(key_rows) <= _MOST_DRAWN and 0 < len(key_results) <= _MOST_DRAWN:
            return _picture(query, key, key_rows, key_results)
    return None


def _can_be_drawn(query: PlannedQuery, rows: LocalRows) -> bool:
    """True if a query reads one table in memory with a few rows, each of which is one event that does not change."""
    plan = query.plan
    if len(query.sources) > 1 or query.inner or not plan.is_windowed:
        return False
    if micro_batch_of(rows) is not None:
        return False  # the rows are of a stream
    if plan.decimal_places is not None:
        return False  # a drawing spells ticks as whole numbers, and not as decimals
    input = plan.input
    columns = input.columns
    has_changes = columns.change is not None or columns.id is not None or input.changes_lifetimes
    if has_changes or input.has_samples:
        return False
    return rows.row_count is not None and rows.row_count <= MOST_ROWS


def _keys_in(query: PlannedQuery, table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield each key of the rows once, in the order of the rows; one empty key if the query has no keys."""
    names = [f"k{place}" for place in range(len(query.plan.keys))]  # the names of keys in projected rows
    if not names:
        yield ()
        return
    columns = [table[name].to_pylist() for name in names]
    yield from dict.fromkeys(zip(*columns, strict=True))


def _rows_of_key(table: pa.Table, names: Sequence[str], key: Sequence[Any]) -> pa.Table:
    """Return the rows of a table that have a key.

    Args:
        table: The table.
        names: The names of the key columns.
        key: The values of the key in these columns; None is null.
    """
    for name, value in zip(names, key, strict=True):
        column = table[name]
        is_of_key = column.is_null() if value is None else pc.equal(column, pa.scalar(value, column.type))
        table = table.filter(is_of_key)
    return table


def _picture(query: PlannedQuery, key: Sequence[Any], rows: pa.Table, results: pa.Table) -> Picture:
    """Draw the rows of a key, each as a bar, and the windows with their results below them.

    Args:
        query: The query.
        key: The values of the key.
        rows: The projected rows of the key.
        results: The results of the key.
    """
    plan = query.plan
    key_words = [f"{column.name} {_spelled(value)}" for column, value in zip(plan.keys, key, strict=True)]
    subject = ", ".join(key_words) or "all rows"
    result_names = _result_names(query, results)
    heading = f"{subject}: {', '.join(result_names)}"
    bars = [*_row_bars(query, rows), *_window_bars(results, result_names)]
    axis = Axis.TICKS if plan.unit is not None else plan.axis  # integers with a unit are drawn as the numbers they are
    return Picture(Drawing([heading, *bars], f"the rows and windows of {subject}", axis))


def _result_names(query: PlannedQuery, results: pa.Table) -> list[str]:
    """Return the names of the columns that modules compute."""
    other_names = {column.name for column in query.plan.keys}
    other_names |= {"window", "window_name", query.plan.lifetime_column, *CHANGES}
    return [name for name in results.column_names if name not in other_names]


def _row_bars(query: PlannedQuery, rows: pa.Table) -> list[Bar]:
    """Return a bar for each row in the order of starts, with the values that modules read as its note."""
    starts = _ticks(rows["start"])
    ends = [start + 1 for start in starts]  # points last for one tick
    if "end" in rows.column_names:
        ends = _ticks(rows["end"])
    # The columns that modules read are projected as `i0`, `i1` and so on.
    values = [rows[f"i{place}"].to_pylist() for place in range(len(query.plan.input.columns.payload))]
    bars: list[Bar] = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        note = ", ".join(_spelled(column[place]) for column in values)
        bars.append(Bar("row", start, INFINITY if end is None else end, note))
    return sorted(bars, key=lambda bar: bar.start)


def _window_bars(results: pa.Table, result_names: Sequence[str]) -> Iterator[Bar]:
    """Yield a bar for each window with its results as a note; several results of a window share its bar."""
    windows = results["window"].combine_chunks()
    starts = _ticks(windows.field("start"))
    ends = _ticks(windows.field("end"))
    notes_by_window: dict[tuple[str, int, int], list[str]] = {}
    for start, end, row in zip(starts, ends, results.to_pylist(), strict=True):
        label = row.get("window_name") or "window"
        # A null at either side means that the window has no limit there.
        window = (label, EARLIEST if start is None else start, INFINITY if end is None else end)
        note = ", ".join(_spelled(row[name]) for name in result_names)
        notes_by_window.setdefault(window, []).append(note)
    for (label, start, end), notes in sorted(notes_by_window.items()):
        yield Bar(label, start, end, "; ".join(notes), Look.WINDOW)


def _ticks(times: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return times as ticks of their axis; None for a null."""
    chunk = times.combine_chunks() if isinstance(times, pa.ChunkedArray) else times
    return list(as_ticks(chunk).to_pylist())


def _spelled(value: Any) -> str:
    """Return a value as text of a few characters; longer text is cut off."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
