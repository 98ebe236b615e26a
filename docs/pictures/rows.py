"""Windows that follow rows, over streams of points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docs.pictures.bars import lifetimes, pane
from docs.pictures.modules import Names
from docs.pictures.picture import Picture
from muntin.drawings import Bar
from muntin.rows import RowWindows, batch, between, last
from muntin.testing import Computation, Script, WindowedQuery

TIMES: Final = {"a": 1, "b": 3, "c": 4, "d": 8, "e": 9, "f": 13, "g": 15}
"""Rows, and when they are: the distance from one to the next means nothing to windows that count rows."""

SHARES: Final = {"x1": 1, "y1": 3, "x2": 4, "x3": 8, "y2": 11}
"""Rows of two shares."""

STAYS: Final = {"a, login": 2, "b, buy": 4, "c, logout": 7, "d, look": 9, "e, login": 11, "f, logout": 14}
"""What a user does."""


def pictures() -> Iterator[Picture]:
    """Yield a picture of each kind, of partitions, and of two kinds over one stream."""
    rows, shares, stays = _stream(TIMES), _stream(SHARES), _stream(STAYS)
    sliding, batches = last(3).trigger(2), batch(3)
    title = "seven rows, and the rows in windows over the last three, computed at every second one"
    yield Picture("last-rows", title, [*lifetimes(rows), *_followed(rows, sliding)], (last,))
    title = "seven rows, and the rows in batches of three; the end of the stream flushes the last one"
    yield Picture("batches", title, [*lifetimes(rows), *_followed(rows, batches)], (batch,))
    by_share = last(2).partition("share")
    title = "rows of two shares, and the last two rows of each share at every row"
    yield Picture("partitions", title, [*lifetimes(shares), *_followed(shares, by_share, "share {}")], (last,))
    bounded = between("opens", "closes")
    title = "what a user does, and the windows from a login to a logout"
    yield Picture("between-rows", title, [*lifetimes(stays), *_followed(stays, bounded)], (between,))
    both: list[Bar | str] = [*lifetimes(rows)]
    for windows in (sliding, batches):
        both += [str(windows), *_followed(rows, windows)]
    yield Picture("rows", "one stream of rows under two kinds of windows that follow rows", both)


def _stream(times: dict[str, int]) -> Script:
    script = Script()
    for name, at in times.items():
        short, _, kind = name.partition(", ")
        payload = {"name": short, "share": name[0], "opens": kind == "login", "closes": kind == "logout"}
        script = script.point(name, at, payload)
    return script.close()


def _followed(script: Script, windows: RowWindows, label: str = "windows") -> list[Bar]:
    """Return the windows of a stream, each with its rows; of shares, one share after the other."""
    query = WindowedQuery(windows, [Computation(Names(), _name)])
    rows = [(row, row.value[0]) for row in script.run(query)[None]]
    return sorted((pane(label.format(names[0]), row, names) for row, names in rows), key=lambda bar: bar.label)


def _name(payload: Any) -> str:
    return str(payload["name"])
