"""The reasons why a query emits nothing or lags, a sentence each, from the last micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics, SourceMetrics
from muntin_engine.monitoring.recent_batches import latest
from muntin_engine.monitoring.spelling import spell_count, spell_seconds, spell_tick, spell_ticks
from muntin_engine.plan.metrics import STAGES

_MOST: Final = 0.5
"""The share of rows, or of a micro-batch's time, from which on what takes it is named."""

_LOOKED_AT: Final = 10
"""Shares of rows are those of so many micro-batches with rows."""


def reasons_of(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Yield what the results of a query wait for, and what takes most of its time or its rows."""
    last, is_time = batches[-1], batches[-1].is_time
    newest, watermark = latest(batches, "newest"), latest(batches, "watermark")
    if last.is_closed:
        yield "its input has ended"
    elif newest is None:
        yield "no events have come"
    elif watermark is None:
        silent = [name for name, source in _sources(batches).items() if source.watermark is None]
        said = f"of the sources {_listed(silent)} nothing has said" if silent else "nothing has said"
        yield f"{said} yet how complete the input is: no punctuation has come, and no delay implies it"
    elif newest > watermark:
        lag = spell_ticks(newest - watermark, is_time=is_time)
        yield f"the watermark is {lag} behind the newest start: {_holder(batches, watermark)}"
    yield from _lost_rows(batches)
    output = latest(batches, "output_watermark")
    if watermark is not None and output is not None and output < watermark and not last.is_closed:
        lag, at = spell_ticks(watermark - output, is_time=is_time), spell_tick(output, is_time=is_time)
        if last.waits_for_ends:
            yield (
                f"the output is {lag} behind the watermark: a window that began at {at} is open, "
                "and an event in it has no end yet; read_state(spark, checkpoint) shows which"
            )
        else:
            yield f"the output is {lag} behind the watermark: windows from {at} on are open"
    if slowest := _slowest(last):
        yield slowest


def _sources(batches: Sequence[BatchMetrics]) -> dict[str, SourceMetrics]:
    """Return what is known of each source, in the last micro-batch in which buckets ran."""
    return dict(next((batch.sources for batch in reversed(batches) if batch.watermark is not None), {}))


def _holder(batches: Sequence[BatchMetrics], watermark: int) -> str:
    """Say what holds the watermark back: sources by their names, each with since when it is silent."""
    sources = _sources(batches)
    behind = [name for name, source in sources.items() if source.watermark is None or source.watermark <= watermark]
    if not behind or (len(behind) == len(sources) > 1):
        return "that is its delay, or punctuation is missing"
    return "; ".join(_behind(batches, name, sources[name].watermark) for name in behind)


def _behind(batches: Sequence[BatchMetrics], name: str, watermark: int | None) -> str:
    """Say how far a source, or one of several inputs, is; of a source also since when it is silent."""
    said = "has said nothing" if watermark is None else f"is at {spell_tick(watermark, is_time=batches[-1].is_time)}"
    known = [batch for batch in batches if name in batch.sources]
    if all(batch.sources[name].rows is None for batch in known):
        return f"the input {name!r} {said}"
    spoke = [batch for batch in known if batch.sources[name].rows]
    silent = sum(1 for batch in batches if not spoke or batch.batch > spoke[-1].batch)
    if not silent:
        return f"the source {name!r} {said}"
    since = f"since micro-batch {spoke[-1].batch}{_at(spoke[-1])}" if spoke else f"for at least {silent} micro-batches"
    return f"the source {name!r} {said}, and silent {since}"


def _at(batch: BatchMetrics) -> str:
    return "" if batch.started is None else f" at {batch.started:%Y-%m-%d %H:%M:%S}"


def _lost_rows(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Yield where most rows go that make no results: they are late, rejected, or left out by a filter."""
    some = [one for one in batches if _rows(one)][-_LOOKED_AT:]
    total = sum(map(_rows, some))
    late_by = max((one.late_by or 0 for one in some), default=0)
    by = f", by up to {spell_ticks(late_by, is_time=batches[-1].is_time)}" if late_by else ""
    ways = {
        "late": f"were late{by}: the watermark had passed them",
        "rejected": "were rejected: rejected_rows says why",
        "filtered": "were left out by the filter of where()",
    }
    for name, said in ways.items():
        lost = sum(getattr(one, name) for one in some)
        if total and lost / total >= _MOST:
            share = "all" if lost == total else f"{spell_count(lost)} of"
            yield f"{share} {spell_count(total)} rows of the last {_counted(some)} {said}"


def _rows(batch: BatchMetrics) -> int:
    return batch.accepted + batch.late + batch.rejected + batch.filtered + batch.shed


def _counted(batches: Sequence[BatchMetrics]) -> str:
    return "micro-batch" if len(batches) == 1 else f"{len(batches)} micro-batches with rows"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


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
