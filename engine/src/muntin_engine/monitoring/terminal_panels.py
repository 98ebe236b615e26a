"""The panels that show the metrics of a streaming query in a terminal, drawn by rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.recent_batches import Watched, latest, latest_sources, recent_batches
from muntin_engine.monitoring.running_queries import running_query, status_of
from muntin_engine.monitoring.spelled_numbers import spell_bytes, spell_count, spell_seconds, spell_tick, spell_ticks


class Line(NamedTuple):
    """A line of a panel.

    Attributes:
        label: The label.
        value: The value in the last micro-batch.
        total: The sum over the micro-batches that Spark keeps; empty if the values cannot be added up.
    """

    label: str
    value: str
    total: str = ""


_COUNTS: Final = {
    "accepted": "rows in",
    "late": "late",
    "rejected": "rejected",
    "results": "results out",
    "windows_closed": "windows closed",
}
"""The labels of counts that are always shown."""

_RARE_COUNTS: Final = {
    "shed": "shed",
    "filtered": "filtered",
    "evicted": "evicted",
    "retractions": "retractions",
    "early": "early results",
    "keys_forgotten": "keys forgotten",
}
"""The labels of counts that are shown unless they are zero; not every query has these."""

_LEVELS: Final = {
    "windows_open": "windows open",
    "windows_revisable": "windows revisable",
    "partitions_held": "partitions held",
    "keys_held": "keys held",
    "events_held": "events held",
}
"""The labels of levels, which are shown if they are known."""


def picture_of(query: Watched, *, is_active: bool) -> RenderableType:
    """Draw a streaming query: a panel for each Muntin query in it, and whether Spark's query runs."""
    batches_by_name = recent_batches(query)
    panels = [_panel(query, batches) for batches in batches_by_name.values()]
    return Group(*panels, Text(status_of(query, batches_by_name, is_active=is_active)))


def _panel(query: Watched, batches: Sequence[BatchMetrics]) -> Panel:
    """Draw the panel of one Muntin query: its numbers, then what holds its results back."""
    last = batches[-1]
    numbers = Table(box=None, header_style="dim", pad_edge=False)
    numbers.add_column("")
    numbers.add_column("last", justify="right", no_wrap=True)
    numbers.add_column(f"last {len(batches)}", justify="right", no_wrap=True)
    for lines in (_counts(batches), _progress(batches), _state(batches), _times(batches)):
        for line in lines:
            numbers.add_row(Text(line.label), line.value, line.total)
    reasons = running_query(query, batches).held_back_by
    held_back = [Text(f"held back: {reason}") for reason in reasons]
    return Panel(Group(numbers, *held_back), title=Text(f"{last.query}: micro-batch {last.batch}"), expand=False)


def _counts(batches: Sequence[BatchMetrics]) -> Iterator[Line]:
    """Yield the lines about rows, results and other things that are counted."""
    for metric, label in {**_COUNTS, **_RARE_COUNTS}.items():
        total = sum(getattr(metrics, metric) for metrics in batches)
        if total or metric in _COUNTS:  # rare counts are left out while they are zero
            yield Line(label, value=spell_count(getattr(batches[-1], metric)), total=spell_count(total))
    yield from _parts(batches, metric="skipped", label="skipped by {}", spell=spell_count)
    yield from _parts(batches, metric="overflows", label="too large for {}", spell=spell_count)


def _progress(batches: Sequence[BatchMetrics]) -> Iterator[Line]:
    """Yield the lines about the watermarks of the query and of its sources."""
    last = batches[-1]
    is_time = last.is_time
    yield Line("watermark", spell_tick(latest(batches, "watermark"), is_time=is_time))
    yield Line("  behind the newest start", spell_ticks(latest(batches, "lag"), is_time=is_time))
    yield Line("  output behind it", spell_ticks(latest(batches, "output_lag"), is_time=is_time))
    for name, source in latest_sources(batches).items():
        yield Line(f"source {name}", spell_tick(source.watermark, is_time=is_time))


def _state(batches: Sequence[BatchMetrics]) -> Iterator[Line]:
    """Yield the lines about the content and the size of the state."""
    for metric, label in _LEVELS.items():
        level = latest(batches, metric)
        if level is not None:
            yield Line(label, spell_count(level))
    yield Line("state", spell_bytes(latest(batches, "state_bytes")))
    bytes_written = sum(metrics.bytes_written for metrics in batches)
    yield Line("state written", spell_bytes(batches[-1].bytes_written), spell_bytes(bytes_written))


def _times(batches: Sequence[BatchMetrics]) -> Iterator[Line]:
    """Yield the lines about the time of micro-batches, of their stages and of modules."""
    all_seconds = sum(metrics.seconds for metrics in batches)
    yield Line("time", spell_seconds(batches[-1].seconds), spell_seconds(all_seconds))
    yield from _parts(batches, metric="stages", label="  {}", spell=spell_seconds)
    yield from _parts(batches, metric="modules", label="  in {}", spell=spell_seconds)


def _parts(
    batches: Sequence[BatchMetrics], metric: str, label: str, spell: Callable[[float | None], str]
) -> Iterator[Line]:
    """Yield a line for each module, stage or column, if any of its values is not zero.

    Args:
        batches: The micro-batches.
        metric: The attribute of `BatchMetrics` that has the values of modules, stages or columns, by their names.
        label: The label of a line, with `{}` for the name.
        spell: The function that spells a value.
    """
    values: dict[str, list[float]] = {}
    for metrics in batches:
        for part, value in getattr(metrics, metric).items():
            values.setdefault(part, []).append(value)
    last: Mapping[str, float] = getattr(batches[-1], metric)
    for part, part_values in values.items():
        if any(part_values):
            yield Line(label.format(part), spell(last.get(part)), spell(sum(part_values)))
