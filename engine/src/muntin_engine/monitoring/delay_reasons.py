"""The reasons why a query emits nothing or lags, a sentence each, from the last micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.recent_batches import latest, latest_sources
from muntin_engine.monitoring.spelled_numbers import spell_count, spell_seconds, spell_tick, spell_ticks
from muntin_engine.plan.metrics import STAGES

_LARGE_SHARE: Final = 0.5
"""The share of rows, or of a micro-batch's time, from which on the reason for it is given."""

_BATCHES_OF_SHARES: Final = 10
"""The number of micro-batches with rows over which shares of rows are computed."""


def reasons_of(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Explain why results of a query wait, and where most of its time or its rows go, in a sentence for each reason.

    The most usual reasons come first, as a reader may read only one.

    Args:
        batches: The last micro-batches of the query, oldest first.
    """
    yield from _why_watermark_waits(batches)
    yield from _lost_rows(batches)
    yield from _why_output_waits(batches)
    yield from _slowest_part(batches[-1])


def _why_watermark_waits(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Yield the reason why the watermark is behind the newest event, or why there is no watermark."""
    last = batches[-1]
    newest = latest(batches, "newest")
    watermark = latest(batches, "watermark")
    if last.is_closed:
        yield "its input has ended"
    elif newest is None:
        yield "no events have come"
    elif watermark is None:
        silent_sources = [name for name, source in latest_sources(batches).items() if source.watermark is None]
        # The beginning of a sentence that names the sources, if there are any.
        subject = "nothing has said"
        if silent_sources:
            subject = f"of the sources {' and '.join(map(repr, silent_sources))} nothing has said"
        yield f"{subject} yet how complete the input is: no punctuation has come, and no delay implies it"
    elif newest > watermark:
        lag = spell_ticks(newest - watermark, is_time=last.is_time)
        yield f"the watermark is {lag} behind the newest start: {_why_watermark_is_held(batches, watermark)}"


def _why_output_waits(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Yield the reason why the output watermark is behind the watermark, if it is."""
    last = batches[-1]
    watermark = latest(batches, "watermark")
    output_watermark = latest(batches, "output_watermark")
    if watermark is None or output_watermark is None or output_watermark >= watermark or last.is_closed:
        return
    lag = spell_ticks(watermark - output_watermark, is_time=last.is_time)
    start = spell_tick(output_watermark, is_time=last.is_time)
    if last.waits_for_ends:
        yield (
            f"the output is {lag} behind the watermark: a window that began at {start} is open, "
            "and an event in it has no end yet; read_state(spark, checkpoint) shows which"
        )
    else:
        yield f"the output is {lag} behind the watermark: windows from {start} on are open"


def _why_watermark_is_held(batches: Sequence[BatchMetrics], watermark: int) -> str:
    """Describe the sources that hold the watermark back, or say that no single source does."""
    sources = latest_sources(batches)
    slow_sources: list[str] = []
    for name, source in sources.items():
        if source.watermark is None or source.watermark <= watermark:
            slow_sources.append(name)
    # If no source is further than the others, none of them holds the others back.
    all_are_slow = len(sources) > 1 and len(slow_sources) == len(sources)
    if not slow_sources or all_are_slow:
        return "that is its delay, or punctuation is missing"
    return "; ".join(_describe_source(batches, name, sources[name].watermark) for name in slow_sources)


def _describe_source(batches: Sequence[BatchMetrics], name: str, watermark: int | None) -> str:
    """Describe how far a source or an input has come, and for a silent source since when it has had no rows.

    Args:
        batches: The last micro-batches of the query, oldest first.
        name: The name of the source or the input.
        watermark: The watermark of the source; None if there is none yet.
    """
    last = batches[-1]
    progress = "has said nothing" if watermark is None else f"is at {spell_tick(watermark, is_time=last.is_time)}"
    known_batches = [batch for batch in batches if name in batch.sources]
    if all(batch.sources[name].rows is None for batch in known_batches):  # an input's rows are not counted apart
        return f"the input {name!r} {progress}"
    batches_with_rows = [batch for batch in known_batches if batch.sources[name].rows]
    if not batches_with_rows:
        return f"the source {name!r} {progress}, and silent for at least {len(batches)} micro-batches"
    last_with_rows = batches_with_rows[-1]
    if last_with_rows.batch >= last.batch:
        return f"the source {name!r} {progress}"
    since = f"since micro-batch {last_with_rows.batch}"
    if last_with_rows.started is not None:
        since += f" at {last_with_rows.started:%Y-%m-%d %H:%M:%S}"
    return f"the source {name!r} {progress}, and silent {since}"


def _lost_rows(batches: Sequence[BatchMetrics]) -> Iterator[str]:
    """Yield the reasons why at least half of the rows do not count: late, rejected, or left out by a filter."""
    batches_with_rows = [batch for batch in batches if _row_count(batch)]
    batches_with_rows = batches_with_rows[-_BATCHES_OF_SHARES:]
    total = sum(_row_count(batch) for batch in batches_with_rows)
    if not total:
        return
    late_by = max(batch.late_by or 0 for batch in batches_with_rows)
    distance = f", by up to {spell_ticks(late_by, is_time=batches[-1].is_time)}" if late_by else ""
    # The reasons by the metric that counts the rows.
    reasons = {
        "late": f"were late{distance}: the watermark had passed them",
        "rejected": "were rejected: rejected_rows says why",
        "filtered": "were left out by the filter of where()",
    }
    count = len(batches_with_rows)
    span = "micro-batch" if count == 1 else f"{count} micro-batches with rows"
    for name, reason in reasons.items():
        lost = sum(getattr(batch, name) for batch in batches_with_rows)
        if lost / total >= _LARGE_SHARE:
            share = "all" if lost == total else f"{spell_count(lost)} of"
            yield f"{share} {spell_count(total)} rows of the last {span} {reason}"


def _row_count(batch: BatchMetrics) -> int:
    """Return the number of all rows of events, whether they counted or not."""
    return batch.accepted + batch.late + batch.rejected + batch.filtered + batch.shed


def _slowest_part(last: BatchMetrics) -> Iterator[str]:
    """Yield the module, the stage, or Spark itself, if it takes at least half of the time of a micro-batch.

    There is nothing to yield if times are not measured.
    """
    if not last.seconds or not last.stages:
        return
    # Modules come before stages, as their time is also part of the time of a stage.
    seconds_by_part = {f"module {module}": seconds for module, seconds in last.modules.items()}
    for stage in STAGES:
        seconds_by_part[f"stage {stage}"] = last.stages.get(stage, 0.0)
    seconds_by_part["Spark itself"] = last.seconds - sum(last.stages.values())
    for part, seconds in seconds_by_part.items():
        if seconds / last.seconds >= _LARGE_SHARE:
            whole = spell_seconds(last.seconds)
            yield f"{part} takes {spell_seconds(seconds)} of the {whole} of the last micro-batch"
            return
