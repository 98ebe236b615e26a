"""The meaning of progress policies, by definition: for each prefix of a stream, all of it is read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from muntin import EARLIEST, INFINITY
from muntin.progress import BoundedDelay, BoundedDisorder, Periodic, ProgressPolicy, SourceProgress
from muntin_engine.time.progress_tracker import Observation, merge_observations
from tests.modules.progress_policies import Elapsing, Guarded, Outvoted


class Row(NamedTuple):
    """A row of a history.

    Attributes:
        kind: `insert`, `punctuate` or `clock`.
        time: Start of an insertion, watermark, or reading of the clock.
        source: Source of the row; None for a clock, and for a watermark of all sources.
    """

    kind: str
    time: int
    source: str | None = None


History = Sequence[Sequence[Row]]
"""Micro-batches of rows."""


def punctuations(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> list[int]:
    """Return the watermark after each micro-batch."""
    watermarks: list[int] = []
    latest = EARLIEST
    for prefix in _prefixes(history):
        latest = max(latest, _least(policy, sources, prefix))
        watermarks.append(latest)
    return watermarks


def _prefixes(history: History) -> list[History]:
    return [history[:count] for count in range(1, len(history) + 1)]


def _rows(history: History) -> Iterator[Row]:
    for batch in history:
        yield from batch


def _least(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> int:
    bounds = {source: _bound(policy, source, history) for source in sources}
    if policy.idle is None or policy.idle.lag is not None:
        return min(bounds.values())
    awaited = [bound for source, bound in bounds.items() if not _is_idle(policy, source, history)]
    return min(awaited) if awaited else max(bounds.values())


def _bound(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return the watermark of a source: by its rows, by punctuation, and by the clock while it was idle."""
    bounds = [implied(policy, source, prefix) for prefix in _prefixes(history)]
    for row in _rows(history):
        if row.kind == "punctuate" and _speaks_for(row, source):
            bounds.append(row.time)
    if policy.idle is not None and policy.idle.lag is not None:
        for prefix in _prefixes(history):
            if _is_idle(policy, source, prefix):
                bounds.append(clock_of(prefix) - policy.idle.lag)
    return max(bounds)


def implied(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return the watermark of a source by its policy after the last micro-batch; an earlier one may be ahead of it."""
    starts = _starts(source, history)
    if not starts:
        return EARLIEST
    if isinstance(policy, Guarded | Elapsing | Outvoted):
        clock = clock_of(history)
        progress = SourceProgress(
            newest=max(starts),
            rows=len(starts),
            latest=tuple(sorted(starts, reverse=True)[: policy.starts_kept]),
            rows_before=len(_starts(source, history[:-1])),
            clock=None if clock == EARLIEST else clock,
            last_heard=_clock_of_last_rows(source, history),
        )
        watermark = policy.watermark(progress)
        return EARLIEST if watermark is None else watermark
    if isinstance(policy, BoundedDelay):
        return max(starts) - policy.delay
    if isinstance(policy, BoundedDisorder):
        return sorted(starts, reverse=True)[policy.rows] if len(starts) > policy.rows else EARLIEST
    if isinstance(policy, Periodic) and policy.span is not None:
        return (max(starts) - policy.delay) // policy.span * policy.span
    if isinstance(policy, Periodic) and policy.rows is not None:
        previous_count = len(_starts(source, history[:-1]))
        is_due = len(starts) // policy.rows > previous_count // policy.rows
        return max(starts) - policy.delay if is_due else EARLIEST
    return EARLIEST


def _is_idle(policy: ProgressPolicy, source: str | None, history: History) -> bool:
    """True if the clock has gone on for long enough since the micro-batch in which a source spoke last."""
    spoke_at = _clock_of_last_rows(source, history)
    if policy.idle is None or spoke_at is None:
        return False
    return clock_of(history) - spoke_at >= policy.idle.after


def _clock_of_last_rows(source: str | None, history: History) -> int | None:
    """Return the clock after the micro-batch in which a source spoke last, or its first reading since."""
    last_batch = 0
    for number, batch in enumerate(history):
        if any(_speaks_for(row, source) for row in batch):
            last_batch = number
    for prefix in _prefixes(history)[last_batch:]:
        clock = clock_of(prefix)
        if clock > EARLIEST:
            return clock
    return None


def _starts(source: str | None, history: History) -> list[int]:
    return [row.time for row in _rows(history) if row.kind == "insert" and row.source == source]


def _speaks_for(row: Row, source: str | None) -> bool:
    return row.kind != "clock" and row.source in (source, None)


def clock_of(history: History) -> int:
    """Return the latest reading of the clock."""
    return max((row.time for row in _rows(history) if row.kind == "clock"), default=EARLIEST)


def observations(policy: ProgressPolicy, batch: Sequence[Row], random: Random) -> list[Observation]:
    """Spread the rows of a micro-batch over some tasks, and return what these observe."""
    tasks: list[list[Row]] = [[] for _ in range(random.randint(1, 4))]
    for row in batch:
        random.choice(tasks).append(row)
    task_observations: list[Observation] = []
    for task_rows in tasks:
        of_rows = [_observation(row, policy) for row in task_rows if row.kind != "clock"]
        task_observations += merge_observations(of_rows, policy.starts_kept)
    return random.sample(task_observations, len(task_observations))


def _observation(row: Row, policy: ProgressPolicy) -> Observation:
    if row.kind == "insert":
        return Observation(row.source, row.time, 1, (row.time,)[: policy.starts_kept])
    return Observation(row.source, watermark=row.time)


def random_history(random: Random, sources: Sequence[str | None]) -> History:
    """Draw micro-batches of rows that come about in order, with watermarks and a clock."""
    now = random.randint(-50, 50)
    history = []
    for _ in range(random.randint(1, 12)):
        batch: list[Row] = []
        for _ in range(random.choice((0, 1, 2, 6))):
            now += random.choice((0, 1, 3))
            batch.append(_row(random, now, sources))
        history.append(batch)
        now += random.choice((0, 0, 20))
    if random.random() < 0.1:
        history[-1].append(Row("punctuate", INFINITY, random.choice([*sources, None])))
    return history


def _row(random: Random, now: int, sources: Sequence[str | None]) -> Row:
    kind = random.choice(("insert", "insert", "insert", "punctuate", "clock"))
    if kind == "clock":
        return Row(kind, now)
    source = random.choice([*sources, None]) if kind == "punctuate" else random.choice(sources)
    return Row(kind, now - random.randint(0, 12), source)
