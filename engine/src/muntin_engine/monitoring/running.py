"""The running queries of a session, each with its pace, its state and what holds it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from muntin_engine.metrics import STAGES
from muntin_engine.monitoring.history import Histories, History, Watched
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.monitoring.spelling import spell_bytes, spell_count, spell_seconds, spell_tick, spell_ticks

_MOST: Final = 0.5
"""The share of a micro-batch's time from which on what takes it is named."""


class _Identified(Watched, Protocol):
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
    def active(self) -> Sequence[_Identified]:
        """The queries that run."""
        ...


class _Session(Protocol):
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
        label = "held back"
        for reason in self.held_back_by:
            lines.append(f"  {label:9}  {reason}")
            label = ""
        return "\n".join(lines)

    __repr__ = __str__


def queries(spark: _Session) -> list[RunningQuery]:
    """Return the running queries of a session, each with its pace, its state and what holds it back.

    A Spark query that contains several Muntin queries gives one entry for each. One that has not ended a micro-batch
    yet is listed without numbers, whether it contains Muntin queries or not; later, other queries are left out.

    Args:
        spark: The session.

    Example:
        >>> queries(spark)  # doctest: +SKIP
        [bikes (Spark query 'rides', d7dbda75-9e29-4ba9-a9e7-673fce20a9ad, run 6b22cf8f-2d03-4b3b-8c87-48271c085193)
          rows       1,204.0 a second; micro-batch 41 took 460 ms
          watermark  2024-05-01 08:10:00, 10 min behind the newest start
          state      2.4 MB, 312 keys
          held back  the watermark is 10 min behind the newest start: a delay, or a source without punctuation]
    """
    return [found for query in spark.streams.active for found in _entries(query)]


def _entries(query: _Identified) -> Iterator[RunningQuery]:
    progress, histories = query.recentProgress, Histories()
    histories.take(progress)
    reason = "no micro-batch has ended yet"
    known = RunningQuery(query_id=str(query.id), run_id=str(query.runId), spark_name=query.name, held_back_by=(reason,))
    if not progress:
        yield known
    for history in histories.by_query.values():
        yield replace(
            known,
            last=history.last,
            rows_per_second=_pace(history),
            held_back_by=tuple(_reasons(history)),
            state_bytes=history.latest("state_bytes"),
            keys_held=history.latest("keys_held"),
        )


def _pace(history: History) -> float:
    """Return the accepted rows per second, from the start of the first micro-batch of those kept to the last end."""
    first, last = history.batches[0], history.last
    seconds = last.seconds
    if first.started is not None and last.started is not None:
        seconds += (last.started - first.started).total_seconds()
    return sum(metrics.accepted for metrics in history.batches) / seconds if seconds > 0 else 0.0


def _reasons(history: History) -> Iterator[str]:
    last, newest, watermark = history.last, history.latest("newest"), history.latest("watermark")
    output, is_time = history.latest("output_watermark"), last.is_time
    if last.is_closed:
        yield "its input has ended"
    elif newest is None:
        yield "no events have come"
    elif watermark is None:
        yield "nothing has said yet how complete the input is: a delay, or punctuation of each source"
    elif newest > watermark:
        lag = spell_ticks(newest - watermark, is_time=is_time)
        yield f"the watermark is {lag} behind the newest start: a delay, or a source without punctuation"
    if watermark is not None and output is not None and output < watermark and not last.is_closed:
        lag = spell_ticks(watermark - output, is_time=is_time)
        yield f"the output is {lag} behind the watermark: open windows, or events whose ends may move"
    if slowest := _slowest(last):
        yield slowest


def _slowest(last: BatchMetrics) -> str | None:
    """Return the stage that takes most of a micro-batch; None if none does, or times are not measured."""
    spent = {f"module {label}": seconds for label, seconds in last.modules.items()}
    spent |= {f"stage {stage}": last.stages.get(stage, 0.0) for stage in STAGES}
    whole = f"of the {spell_seconds(last.seconds)} of the last micro-batch"
    if not last.seconds or not last.stages:
        return None
    for name, seconds in spent.items():  # modules first, whose time is part of a stage's
        if seconds / last.seconds >= _MOST:
            return f"{name} takes {spell_seconds(seconds)} {whole}"
    outside = last.seconds - sum(last.stages.values())
    return f"Spark itself takes {spell_seconds(outside)} {whole}" if outside / last.seconds >= _MOST else None
