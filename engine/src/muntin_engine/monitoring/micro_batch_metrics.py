"""The metrics of one query in one micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from muntin import INFINITY, instant


class SourceMetrics(NamedTuple):
    """The metrics of a source, or of one of several inputs, in a micro-batch.

    Attributes:
        rows: The number of insertions; None for an input without sources, whose rows are not counted apart.
        late: The number of late rows, where that is known by source.
        watermark: The watermark; None until there is one, and in a micro-batch without rows.
    """

    rows: int | None = None
    late: int = 0
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMetrics:
    """The metrics of a micro-batch; `batch_metrics` reads them from a query's progress.

    The reference page of metrics explains each. Gauges, the values after the batch, are None where they are unknown:
    in a batch without any rows, and where a query's evaluator does not know them. Times are in seconds, and ticks stay
    ticks.

    Attributes:
        query: The name under which the query reports (`Query.named`).
        query_id: The id that Spark gave the query, the same after a restart; None where the progress has none.
        run_id: The id that Spark gave this run of the query.
        spark_name: The name that the query has in Spark, if it has one.
        batch: The number of the batch.
        started: The time at which Spark started the batch.
        seconds: The duration of the batch, from looking for rows to committing.
        accepted: Rows that took effect.
        late: Rows behind the watermark.
        late_by: The largest distance in ticks of a late row behind the watermark; None if no row was late.
        shed: New events for which their key had no room.
        rejected: Invalid rows.
        filtered: New events that a filter left out, or that have no lifetime after its changes.
        results: Emitted rows, retractions included.
        evicted: Rows of the second output.
        retractions: Emitted rows that retract an earlier result, or end it earlier.
        early: Emitted rows whose windows are not final.
        keys: Keys with rows in the batch.
        windows_closed: Windows of keys, with members, that became final in this batch.
        keys_forgotten: Keys dropped from the state in this batch, as they were silent for long enough.
        windows_open: Windows that have begun and are not complete.
        windows_revisable: Emitted windows of keys that may still be corrected, and open ones with a trigger.
        partitions_held: Partitions of row windows in the state, of all keys.
        keys_held: Keys with state.
        events_held: Events in the state.
        state_bytes: The size of the state.
        bytes_written: The bytes of state written in this batch.
        watermark: No later row may change anything before this tick; `INFINITY` if the input has ended.
        output_watermark: No later result changes anything before it.
        newest: The largest start of an event so far.
        clock: The latest reading of a clock that the input brought, in microseconds since the epoch.
        is_time: True if ticks are microseconds since the epoch.
        stages: Seconds of work by stage, over all tasks; they add up to more than passed where tasks run side by side.
        modules: Seconds of work inside each module, which are part of those of the stages.
        skipped: The number of new events that a module skipped, as it does not accept a null in them, by module.
        overflows: The number of values that a result column could not hold, which are null or infinite there, by
            column.
        sources: The metrics of each source, or of each of several inputs.
        waits_for_ends: True if windows may stay open as long as an event in them has no end.
        unread: The side outputs, `late` and `rejected`, that no sink takes.
    """

    query: str
    batch: int
    started: datetime | None = None
    seconds: float = 0.0
    accepted: int = 0
    late: int = 0
    late_by: int | None = None
    shed: int = 0
    rejected: int = 0
    filtered: int = 0
    results: int = 0
    evicted: int = 0
    retractions: int = 0
    early: int = 0
    keys: int = 0
    windows_closed: int = 0
    keys_forgotten: int = 0
    windows_open: int | None = None
    windows_revisable: int | None = None
    partitions_held: int | None = None
    keys_held: int | None = None
    events_held: int | None = None
    state_bytes: int | None = None
    bytes_written: int = 0
    watermark: int | None = None
    output_watermark: int | None = None
    newest: int | None = None
    clock: int | None = None
    is_time: bool = True
    stages: Mapping[str, float] = field(default_factory=dict)
    modules: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    overflows: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, SourceMetrics] = field(default_factory=dict)
    waits_for_ends: bool = False
    unread: frozenset[str] = frozenset()
    query_id: str | None = None
    run_id: str | None = None
    spark_name: str | None = None

    @property
    def spelled_query(self) -> str:
        """The query with all of its names, for a reader who sees several queries.

        Example:
            >>> BatchMetrics(query="muntin", batch=0, query_id="d7dbda75-9e29", spark_name="bikes").spelled_query
            "muntin (Spark query 'bikes', d7dbda75)"
        """
        names: list[str] = []
        if self.spark_name:
            names.append(repr(self.spark_name))
        if self.query_id:
            names.append(self.query_id.partition("-")[0])  # enough of it to find the query
        return f"{self.query} (Spark query {', '.join(names)})" if names else self.query

    @property
    def is_closed(self) -> bool:
        """True if the input has ended."""
        return self.watermark == INFINITY

    @property
    def rows_per_second(self) -> float:
        """The number of rows that took effect, per second of the batch."""
        return self.accepted / self.seconds if self.seconds else 0.0

    @property
    def lag(self) -> int | None:
        """The lag of the watermark behind the newest start, in ticks; None if either is unknown.

        Example:
            >>> BatchMetrics(query="muntin", batch=0, newest=70, watermark=60).lag
            10
        """
        if self.newest is None or self.watermark is None:
            return None
        return max(0, self.newest - self.watermark)

    @property
    def output_lag(self) -> int | None:
        """The lag of the output's watermark behind the input's, in ticks; None if either is unknown."""
        if self.watermark is None or self.output_watermark is None:
            return None
        return max(0, self.watermark - self.output_watermark)

    @property
    def clock_lag(self) -> int | None:
        """The lag of the watermark behind the driver's clock when the batch ended, in microseconds.

        It is None if the axis is not time, if the input has ended, and if there is no watermark yet.
        """
        if self.started is None or self.watermark is None or not self.is_time or self.is_closed:
            return None
        ended = self.started.astimezone(UTC) + timedelta(seconds=self.seconds)
        return instant(ended) - self.watermark
