"""The running queries of a session, each with its pace, its state and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final, Protocol

from muntin.notebook import facts_html
from muntin_engine.monitoring.delay_reasons import reasons_of
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.recent_batches import Watched, latest, recent_batches
from muntin_engine.monitoring.spelled_numbers import spell_bytes, spell_count, spell_seconds, spell_tick, spell_ticks

_BATCHES_OF_PACE: Final = 60
"""The number of micro-batches over which the pace is computed."""


class _Active(Protocol):
    """The manager of a session's queries."""

    @property
    def active(self) -> Sequence[Watched]:
        """The streaming queries that run."""
        ...


class Session(Protocol):
    """The part of a session that lists its queries."""

    @property
    def streams(self) -> _Active:
        """The manager of its queries."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunningQuery:
    """A query that runs, as its last micro-batches report it; `str` and `repr` describe it in a few lines.

    Attributes:
        query_id: The id that Spark gave the query, the same after a restart.
        run_id: The id that Spark gave this run of the query.
        spark_name: The name that the query has in Spark, if it has one.
        last: The metrics of the last micro-batch; None before the first has ended.
        rows_per_second: Rows that took effect, per second of the time of up to 60 micro-batches.
        held_back_by: The reasons why results wait, or why most rows or most of the time are lost, a sentence each.
        state_bytes: The size of the state; None if it is unknown.
        keys_held: The number of keys with state; None if the evaluator does not know the number.
    """

    query_id: str
    run_id: str
    spark_name: str | None = None
    last: BatchMetrics | None = None
    rows_per_second: float = 0.0
    held_back_by: tuple[str, ...] = ()
    state_bytes: int | None = None
    keys_held: int | None = None

    @property
    def name(self) -> str | None:
        """The name under which the query reports (`Query.named`); None before the first micro-batch has ended."""
        return None if self.last is None else self.last.query

    @property
    def lag(self) -> int | None:
        """The distance from the watermark to the newest start, in ticks; None if either is unknown."""
        return None if self.last is None else self.last.lag

    @property
    def heading(self) -> str:
        """The names of the query in a line."""
        names = [self.query_id, f"run {self.run_id}"]
        if self.spark_name:
            names.insert(0, repr(self.spark_name))
        return f"{self.name or 'a query'} (Spark query {', '.join(names)})"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The facts on the query in words, each after its topic: pace, watermark, state, reasons why results wait."""
        facts: list[tuple[str, str]] = []
        last = self.last
        if last is not None:
            pace = f"micro-batch {last.batch} took {spell_seconds(last.seconds)}"
            watermark = spell_tick(last.watermark, is_time=last.is_time)
            keys = "" if self.keys_held is None else f", {spell_count(self.keys_held)} keys"
            facts += [
                ("rows", f"{self.rows_per_second:,.1f} a second; {pace}"),
                ("watermark", f"{watermark}, {spell_ticks(self.lag, is_time=last.is_time)} behind the newest start"),
                ("state", f"{spell_bytes(self.state_bytes)}{keys}"),
            ]
        for place, reason in enumerate(self.held_back_by):
            topic = "held back" if place == 0 else ""  # all reasons have one topic
            facts.append((topic, reason))
        return facts

    def __str__(self) -> str:
        """Describe the query in a few lines."""
        lines = [self.heading]
        lines += [f"  {topic:9}  {text}" for topic, text in self.facts]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Describe the query as HTML, for notebooks."""
        return f"<p>{escape(self.heading)}</p>{facts_html(self.facts)}"

    __repr__ = __str__


def queries(spark: Session) -> list[RunningQuery]:
    """Return the running queries of a session, each with its pace, its state and what holds it back.

    A Spark query that contains several Muntin queries has one entry for each. Before its first micro-batch has ended, a
    Spark query has one entry without numbers, whether it contains Muntin queries or not, as nobody can tell yet.
    Afterwards a query without Muntin queries has no entry.

    The numbers are those of the last 100 micro-batches, which Spark keeps; set
    `spark.sql.streaming.numRecentProgressUpdates` to keep more.

    Args:
        spark: The session.

    Example:
        >>> queries(spark)  # doctest: +SKIP
        [bikes (Spark query 'rides', d7dbda75-9e29-4ba9-a9e7-673fce20a9ad, run 6b22cf8f-2d03-4b3b-8c87-48271c085193)
          rows       1,204.0 a second; micro-batch 41 took 460 ms
          watermark  2024-05-01 08:10:00, 10 min behind the newest start
          state      2.4 MB, 312 keys
          held back  the watermark is 10 min behind the newest start: that is its delay, or punctuation is missing]
    """
    entries: list[RunningQuery] = []
    for query in spark.streams.active:
        batches_by_name = recent_batches(query)
        for batches in batches_by_name.values():
            entries.append(running_query(query, batches))
        if not batches_by_name and not query.recentProgress:
            entries.append(running_query(query))
    return entries


def running_query(query: Watched, batches: Sequence[BatchMetrics] = ()) -> RunningQuery:
    """Return the entry of a query.

    Args:
        query: Spark's query.
        batches: The last micro-batches of a Muntin query in it, oldest first; empty if none has ended.
    """
    entry = RunningQuery(query_id=str(query.id), run_id=str(query.runId), spark_name=query.name)
    if not batches:
        return replace(entry, held_back_by=("no micro-batch has ended yet",))
    return replace(
        entry,
        last=batches[-1],
        rows_per_second=_pace(batches),
        held_back_by=tuple(reasons_of(batches)),
        state_bytes=latest(batches, "state_bytes"),
        keys_held=latest(batches, "keys_held"),
    )


def status_of(query: Watched, batches_by_name: Mapping[str, object], *, is_active: bool) -> str:
    """Say in a line whether a query runs, has ended or has failed.

    Args:
        query: Spark's query.
        batches_by_name: The Muntin queries in it that have reported a micro-batch, by name.
        is_active: True if the query ran when its micro-batches were read.
    """
    name = query.name or "the query"
    if is_active:
        return f"{name} runs" if batches_by_name else f"{name} runs; it has not reported any Muntin query yet"
    error = query.exception()
    if error is None:
        return f"{name} has ended"
    lines = str(error).strip().splitlines()
    return f"{name} has failed: {lines[0] if lines else type(error).__name__}"


def _pace(batches: Sequence[BatchMetrics]) -> float:
    """Return the accepted rows per second, from the start of the first to the end of the last recent micro-batch."""
    recent = batches[-_BATCHES_OF_PACE:]
    first = recent[0]
    last = recent[-1]
    seconds = last.seconds  # without starts, the time of the last micro-batch is all that is known
    if first.started is not None and last.started is not None:
        seconds += (last.started - first.started).total_seconds()
    accepted = sum(metrics.accepted for metrics in recent)
    return accepted / seconds if seconds > 0 else 0.0
