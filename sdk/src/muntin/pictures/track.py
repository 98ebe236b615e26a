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
        rows: A table, all of which is collected: a DataFrame of Spark's, a frame of pandas or Polars, a relation of
            DuckDB or Arrow data; or dicts.
        start: The column with the start of a row: a number, a datetime, or its text in ISO 8601. Or a column that has
            both ends, such as `window`.
        end: The column with its end, in which a null means that it has none. If it is `start` itself, rows are marks,
            such as watermarks. By default a row is a point.
        label: The text before a bar, with columns in braces, as in `"{airport}"`.
        note: The text in a bar or beside it, likewise, as in `"{delay:.1f} minutes"`.
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
        """Return a bar for each row."""
        rows = _dicts_of(self.rows)
        axis = Axis.TICKS
        for row in rows:
            if any(isinstance(end, datetime) for end in self._ends(row)):
                axis = Axis.TIME
        return Drawing([self._bar(row) for row in rows], axis=axis)

    def _ends(self, row: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the start and end of a row as they are, with texts as datetimes."""
        start = row[self.start]
        if isinstance(start, Mapping):
            return _parsed(start["start"]), _parsed(start["end"])
        return _parsed(start), _parsed(row[self.end or self.start])

    def _bar(self, row: Mapping[str, Any]) -> Bar:
        """Return the bar of a row: from its start to its end, or one tick long if the track has starts alone."""
        first, last = self._ends(row)
        start = _tick(first)
        is_point = self.end is None and not isinstance(row[self.start], Mapping)
        return Bar(
            label=self.label.format(**row),
            start=start,
            end=start + 1 if is_point else _tick(last),
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
    if hasattr(table, "toArrow"):  # of Spark's
        dicts = table.toArrow().to_pylist()
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa  # the command itself does without

        dicts = pa.table(table).to_pylist()
    else:
        dicts = list(table)
    return dicts


def _parsed(end: Any) -> Any:
    return datetime.fromisoformat(end) if isinstance(end, str) else end


def _tick(end: Any) -> int:
    """Return the tick of an end: a number as it is, a datetime by what its clock shows; no end is the axis's end."""
    if end is None:
        return INFINITY
    if isinstance(end, datetime):
        # Without its zone: a picture shows the times that the table shows.
        return instant(end.replace(tzinfo=None))
    return int(end)
