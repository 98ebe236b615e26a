"""A streaming query as a notebook shows it: the entries of `queries` for it, and its last micro-batches as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from muntin.notebook import rows_html, text_html
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.recent_batches import Watched, recent_batches
from muntin_engine.monitoring.running_queries import running_query, status_of
from muntin_engine.monitoring.spelled_numbers import spell_count, spell_seconds, spell_tick

_SHOWN_BATCHES: Final = 5
"""The number of micro-batches that a table has."""

_HEADINGS: Final = ("micro-batch", "started", "rows in", "late", "rejected", "results out", "time", "watermark")


def html_of(query: Watched, *, is_active: bool) -> str:
    """Return a streaming query as HTML: each Muntin query in it, and whether Spark's query runs.

    Args:
        query: Spark's streaming query.
        is_active: True if the query ran when its micro-batches were read.
    """
    batches_by_name = recent_batches(query)
    panels: list[str] = []
    for batches in batches_by_name.values():
        panels += [running_query(query, batches)._repr_html_(), _table(batches[-_SHOWN_BATCHES:])]
    return "".join([*panels, text_html(status_of(query, batches_by_name, is_active=is_active))])


def _table(batches: Sequence[BatchMetrics]) -> str:
    """Return micro-batches as a table in HTML, the last one first."""
    rows: list[tuple[object, ...]] = []
    for batch in reversed(batches):
        started = "" if batch.started is None else f"{batch.started:%Y-%m-%d %H:%M:%S}"
        counts = (batch.accepted, batch.late, batch.rejected, batch.results)
        watermark = spell_tick(batch.watermark, is_time=batch.is_time)
        rows.append((batch.batch, started, *map(spell_count, counts), spell_seconds(batch.seconds), watermark))
    return rows_html(_HEADINGS, rows)
