"""Events, windows and results as bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from muntin import INFINITY, Module
from muntin.drawings import Bar, Look
from muntin.testing import Computation, OutputEvent, Script, WindowedQuery
from muntin.windows import WindowKind


def lifetimes(script: Script) -> list[Bar]:
    """Return the events that a stream means, each beside its id."""
    return [Bar(str(id), event.start, event.end) for (id, _), event in script.history()[None].items()]


def watermark(script: Script) -> Iterator[Bar]:
    """Yield the watermark of a stream, unless it is closed."""
    last = script.last_watermark()
    if last != INFINITY:
        yield Bar("watermark", last, last, str(last))


def counted(script: Script, window: WindowKind, module: Module, label: str = "windows") -> list[Bar]:
    """Return the windows of a stream, each with what a module says of it."""
    rows = script.run(WindowedQuery(window, [Computation(module)])).get(None, [])
    return [pane(label, row, str(row.value[0])) for row in rows]


def pane(label: str, row: OutputEvent, note: str = "") -> Bar:
    """Return the window of a row."""
    return Bar(label, row.window.start, row.window.end, note, Look.WINDOW)


def bare(bars: Iterable[Bar]) -> list[Bar]:
    """Return windows without their results, each once."""
    return list(dict.fromkeys(Bar(bar.label, bar.start, bar.end, look=Look.WINDOW) for bar in bars))


def result(label: str, row: Any, note: str) -> Bar:
    """Return a row of the output with the lifetime that it has."""
    return Bar(label, row.start, row.end, note, Look.RESULT)
