"""Rows of tables as bars of a picture: a small stream, its windows and the results of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from muntin.axis import INFINITY, Axis, instant
from muntin.drawings import Bar, Drawing, Look
from muntin.pictures.picture import Picture


@dataclass(frozen=True)
class Track:
    """The rows of a table as bars of one meaning; `draw` makes a picture of several tracks.

    Attributes:
        rows: A table, of which all rows are collected: a DataFrame of Spark, a frame of pandas or Polars, a relation of
            DuckDB or Arrow data; or dicts.
        start: The column with the start of a row: a number, a datetime, or a text in ISO 8601. Or a column with both
            the start and the end, such as `window`.
        end: The column with the end of a row, where a null stands for a row without an end. If it is the same column as
            `start`, rows are marks, such as watermarks. By default a row is a point.
        label: The text before a bar, with columns in braces, as in `"{airport}"`.
        note: The text in a bar or beside it, with columns in braces, as in `"{delay:.1f} minutes"`.
        look: Meaning of a row: `"event"`, `"window"` or `"result"`. A row whose column `change` is `retract` is struck
            through.
    """

    rows: Any
    start: str
    end: str | None = None
    label: str = ""
    note: str = ""
    look: str = Look.EVENT

    def drawing(self) -> Drawing:
        """Return a drawing with a bar for each row."""
        rows = _dicts_of(self.rows)
        # The axis is time if any start or end is a datetime.
        axis = Axis.TICKS
        for row in rows:
            if any(isinstance(bound, datetime) for bound in self._start_and_end(row)):
                axis = Axis.TIME
        return Drawing([self._bar(row) for row in rows], axis=axis)

    def _start_and_end(self, row: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the start and the end of a row: numbers, datetimes, or None."""
        start = row[self.start]
        if isinstance(start, Mapping):
            return _parsed(start["start"]), _parsed(start["end"])
        # Rows that have only a start give it as their end, too: `_bar` makes that one tick long.
        return _parsed(start), _parsed(row[self.end or self.start])

    def _bar(self, row: Mapping[str, Any]) -> Bar:
        """Return the bar of a row: from its start to its end, or one tick long if rows have only a start."""
        row_start, row_end = self._start_and_end(row)
        start = _tick(row_start)
        has_both_bounds = isinstance(row[self.start], Mapping)  # such as the column `window` of results
        is_point = self.end is None and not has_both_bounds
        return Bar(
            label=self.label.format(**row),
            start=start,
            end=start + 1 if is_point else _tick(row_end),
            note=self.note.format(**row),
            look=Look(self.look),
            is_struck=row.get("change") == "retract",
        )


def draw(title: str, *parts: Track | str) -> Picture:
    """Return a picture of tracks along one axis, from top to bottom; a notebook shows it.

    Times of the day are those of the datetimes, whatever their time zone.

    Args:
        title: The subject, in a few words.
        parts: The tracks, and lines of text between them.

    Example:
        >>> rides = [{"leaves": "2024-05-01T08:03", "km": 2.5}, {"leaves": "2024-05-01T08:07", "km": 4.0}]
        >>> counts = [{"window": {"start": "2024-05-01T08:00", "end": "2024-05-01T08:10"}, "rides": 2}]
        >>> windows = Track(counts, "window", label="window", note="{rides} rides", look="window")
        >>> print(draw("rides per ten minutes", Track(rides, "leaves", label="ride"), windows).description)
        ride 08:03; ride 08:07; window [08:00, 08:10): 2 rides
    """
    rows: list[Bar | str] = []
    axis = Axis.TICKS
    for part in parts:
        if isinstance(part, str):
            rows.append(part)
            continue
        drawing = part.drawing()
        rows += drawing.rows
        if drawing.axis is Axis.TIME:
            axis = Axis.TIME
    return Picture(Drawing(rows, title, axis))


def _dicts_of(table: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a table as dicts."""
    dicts: list[Mapping[str, Any]]
    if hasattr(table, "toArrow"):  # a DataFrame of Spark
        dicts = table.toArrow().to_pylist()
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa  # only here, as dicts can be drawn without PyArrow

        dicts = pa.table(table).to_pylist()
    else:
        dicts = list(table)
    return dicts


def _parsed(bound: Any) -> Any:
    """Return the start or end of a row as it is, but a text as a datetime."""
    return datetime.fromisoformat(bound) if isinstance(bound, str) else bound


def _tick(bound: Any) -> int:
    """Return the start or end of a row in ticks; `INFINITY` for None, which is the end of a row without an end."""
    if bound is None:
        return INFINITY
    if isinstance(bound, datetime):
        # Without its zone: a picture shows the times of the day that the table shows.
        return instant(bound.replace(tzinfo=None))
    return int(bound)
