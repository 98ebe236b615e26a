"""The running queries of a session, each with its pace, its state and what holds it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from muntin_engine.monitoring.alerts import Alert, exceeded
from muntin_engine.monitoring.history import Histories, History, Watched
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.reasons import reasons_of
from muntin_engine.monitoring.spelling import spell_bytes, spell_count, spell_seconds, spell_tick, spell_ticks

_PACED: Final = 60
"""So many micro-batches make the pace."""


class Identified(Watched, Protocol):
    """A streaming query with its ids."""

    @property
    def id(self) -> object:
        """Spark's id of the query."""
        ...

    @property
    def runId(self) -> object:
        """Spark's id of this run of it."""
        ...


class _Active(Protocol):
    @property
    def active(self) -> Sequence[Identified]:
        """The queries that run."""
        ...


class Session(Protocol):
    """The part of a session that lists its queries."""

    @property
    def streams(self) -> _Active:
        """The manager of its queries."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunningQuery:
    """A query that runs, as its last micro-batches report it; `str` and `repr` say it in a few lines.

    Attributes:
        query_id: Spark's id of the streaming query, the same after a restart.
        run_id: Spark's id of this run of it.
        spark_name: Spark's name of it, if it has one.
        last: The metrics of the last micro-batch; None before the first has ended.
        rows_per_second: Rows that took effect, per second of the time of up to 60 micro-batches.
        held_back_by: What the results wait for, and what takes most of the time, a sentence each; empty if nothing.
        state_bytes: The size of the state, as far as it is known.
        keys_held: The number of keys with state, where the evaluator knows it.
        alerts: The limits that the last micro-batch exceeds, a sentence each.
    """

    query_id: str
    run_id: str
    spark_name: str | None = None
    last: BatchMetrics | None = None
    rows_per_second: float = 0.0
    held_back_by: tuple[str, ...] = ()
    state_bytes: int | None = None
    keys_held: int | None = None
    alerts: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """The name under which it reports (`Query.named`); None before the first micro-batch has ended."""
        return None if self.last is None else self.last.query

    @property
    def lag(self) -> int | None:
        """The distance from the watermark to the newest start, in ticks; None if either is unknown."""
        return None if self.last is None else self.last.lag

    def __str__(self) -> str:
        """Return a few lines."""
        names = ", ".join([*([repr(self.spark_name)] if self.spark_name else []), self.query_id, f"run {self.run_id}"])
        lines = [f"{self.name or 'a query'} (Spark query {names})"]
        if (last := self.last) is not None:
            pace = f"micro-batch {last.batch} took {spell_seconds(last.seconds)}"
            at = spell_tick(last.watermark, is_time=last.is_time)
            keys = "" if self.keys_held is None else f", {spell_count(self.keys_held)} keys"
            lines += [
                f"  rows       {self.rows_per_second:,.1f} a second; {pace}",
                f"  watermark  {at}, {spell_ticks(self.lag, is_time=last.is_time)} behind the newest start",
                f"  state      {spell_bytes(self.state_bytes)}{keys}",
            ]
        for label, texts in (("held back", self.held_back_by), ("alerts", self.alerts)):
            lines += [f"  {'' if number else label:9}  {text}" for number, text in enumerate(texts)]
        return "\n".join(lines)

    __repr__ = __str__


def queries(spark: Session, *, alerts: Iterable[Alert] = ()) -> list[RunningQuery]:
    """Return the running queries of a session, each with its pace, its state and what holds it back.

    A Spark query that contains several Muntin queries gives one entry for each. One that has not ended a micro-batch
    yet is listed without numbers, whether it contains Muntin queries or not; later, other queries are left out.

    Args:
        spark: The session.
        alerts: Conditions, of which each entry says which its last micro-batch exceeds.

    Example:
        >>> queries(spark)  # doctest: +SKIP
        [bikes (Spark query 'rides', d7dbda75-9e29-4ba9-a9e7-673fce20a9ad, run 6b22cf8f-2d03-4b3b-8c87-48271c085193)
          rows       1,204.0 a second; micro-batch 41 took 460 ms
          watermark  2024-05-01 08:10:00, 10 min behind the newest start
          state      2.4 MB, 312 keys
          held back  the watermark is 10 min behind the newest start: that is its delay, or punctuation is missing]
    """
    found, alerts = [], tuple(alerts)
    for query in spark.streams.active:
        progress, histories = query.recentProgress, Histories()
        histories.take(progress)
        found += [running(query, history, alerts) for history in histories.by_query.values()]
        found += [] if progress else [running(query)]
    return found


def running(query: Identified, history: History | None = None, alerts: Iterable[Alert] = ()) -> RunningQuery:
    """Return the entry of a query, given its history; None before a micro-batch has ended."""
    known = RunningQuery(query_id=str(query.id), run_id=str(query.runId), spark_name=query.name)
    if history is None:
        return replace(known, held_back_by=("no micro-batch has ended yet",))
    return replace(
        known,
        last=history.last,
        rows_per_second=_pace(history),
        held_back_by=tuple(reasons_of(history)),
        state_bytes=history.latest("state_bytes"),
        keys_held=history.latest("keys_held"),
        alerts=tuple(exceeded(alerts, history.last).values()),
    )


def _pace(history: History) -> float:
    """Return the accepted rows per second, from the start of the first micro-batch of some to the end of the last."""
    some = list(history.batches)[-_PACED:]
    first, last = some[0], some[-1]
    seconds = last.seconds
    if first.started is not None and last.started is not None:
        seconds += (last.started - first.started).total_seconds()
    return sum(metrics.accepted for metrics in some) / seconds if seconds > 0 else 0.0
