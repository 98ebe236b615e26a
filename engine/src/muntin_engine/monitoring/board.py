"""The content of a monitor, line by line, independent of the display."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from muntin_engine.metrics import STAGES
from muntin_engine.monitoring.history import History
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.spelling import (
    sparkline,
    spell_bytes,
    spell_count,
    spell_seconds,
    spell_tick,
    spell_ticks,
)


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A line of a board.

    Attributes:
        label: Its subject.
        last: Its value in the last batch, or the last one known.
        total: Over all batches; empty where that means nothing.
        history: A little picture of the last batches.
    """

    label: str
    last: str
    total: str = ""
    history: str = ""


@dataclass(frozen=True, slots=True)
class BoardSection:
    """Lines that belong together."""

    title: str
    lines: Sequence[BoardLine]


_COUNTS: Final = {
    "accepted": "rows in",
    "late": "late",
    "shed": "shed",
    "rejected": "rejected",
    "filtered": "filtered",
    "results": "results out",
    "evicted": "evicted",
    "retractions": "retractions",
    "early": "early results",
    "keys": "keys touched",
    "windows_closed": "windows closed",
    "keys_forgotten": "keys forgotten",
}

_SELDOM: Final = {"shed", "filtered", "evicted", "retractions", "early", "keys_forgotten"}
"""Not every query has these."""

_TICKS: Final = {
    "newest": "newest start",
    "watermark": "watermark",
    "output_watermark": "output watermark",
}

_LAGS: Final = {
    "lag": "watermark behind newest",
    "output_lag": "output behind input",
    "clock_lag": "watermark behind clock",
}

_LEVELS: Final = {
    "windows_open": "windows open",
    "windows_revisable": "windows revisable",
    "partitions_held": "partitions held",
    "keys_held": "keys held",
    "events_held": "events held",
}

_PICTURED: Final = 30
"""Batches in a picture."""


def board_of(history: History) -> list[BoardSection]:
    """Return the sections to show of a query, without empty lines."""
    sections = [
        BoardSection("rows", list(_counts(history))),
        BoardSection("progress", list(_progress(history))),
        BoardSection("state", list(_state(history))),
        BoardSection("time", list(_time(history))),
    ]
    return [section for section in sections if section.lines]


def _counts(history: History) -> Iterator[BoardLine]:
    for name, label in _COUNTS.items():
        last, total = getattr(history.last, name), history.totals[name]
        if total or name not in _SELDOM:
            yield BoardLine(label, spell_count(last), spell_count(total), _picture(history, attrgetter(name)))
    for module, total in history.skipped.items():
        if total:
            last, picture = history.last.skipped.get(module), _picture(history, _part("skipped", module))
            yield BoardLine(f"skipped by {module}", spell_count(last), spell_count(total), picture)
    for column, total in history.overflows.items():
        if total:
            last, picture = history.last.overflows.get(column), _picture(history, _part("overflows", column))
            yield BoardLine(f"too large for {column}", spell_count(last), spell_count(total), picture)


def _progress(history: History) -> Iterator[BoardLine]:
    is_time = history.last.is_time
    for name, label in _TICKS.items():
        yield BoardLine(label, spell_tick(history.latest(name), is_time=is_time))
    for name, label in _LAGS.items():
        lag = history.latest(name)
        if lag is not None:
            yield BoardLine(label, spell_ticks(lag, is_time=is_time), history=_picture(history, attrgetter(name)))


def _state(history: History) -> Iterator[BoardLine]:
    for name, label in _LEVELS.items():
        level = history.latest(name)
        if level is not None:
            yield BoardLine(label, spell_count(level), history=_picture(history, attrgetter(name)))
    held, written = history.latest("state_bytes"), history.totals["bytes_written"]
    yield BoardLine("size", spell_bytes(held), history=_picture(history, attrgetter("state_bytes")))
    last = spell_bytes(history.last.bytes_written)
    yield BoardLine("written", last, spell_bytes(written), _picture(history, attrgetter("bytes_written")))


def _time(history: History) -> Iterator[BoardLine]:
    yield _seconds("batch", history, attrgetter("seconds"), history.seconds["batch"])
    for stage in STAGES:
        if history.seconds[stage]:
            yield _seconds(stage, history, _part("stages", stage), history.seconds[stage])
    for module, total in history.modules.items():
        yield _seconds(f"in {module}", history, _part("modules", module), total)
    for module, count in history.long_calls.items():
        last, picture = history.last.long_calls.get(module, 0), _picture(history, _part("long_calls", module))
        yield BoardLine(f"long calls of {module}", spell_count(last), spell_count(count), picture)
        longest = history.longest_calls.get(module, 0.0)
        yield _seconds(f"longest call of {module}", history, _part("longest_calls", module), longest)


def _part(name: str, part: str) -> Callable[[BatchMetrics], float | None]:
    """Return a function that reads a metric of a stage or a module."""
    return lambda metrics: getattr(metrics, name).get(part)


def _seconds(label: str, history: History, value: Callable[[BatchMetrics], float | None], total: float) -> BoardLine:
    return BoardLine(label, spell_seconds(value(history.last)), spell_seconds(total), _picture(history, value))


def _picture(history: History, value: Callable[[BatchMetrics], float | None]) -> str:
    return sparkline(list(map(value, history.batches))[-_PICTURED:])
