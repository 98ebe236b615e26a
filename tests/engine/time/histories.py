"""The meaning of progress policies, by definition: for each prefix of a stream, all of it is read again.

The engine never does that: it keeps a small state for each source. No code of its `ProgressTracker` is used here.
"""

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


def reference_watermarks(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> list[int]:
    """Return the watermark after each micro-batch; it never goes back."""
    watermarks: list[int] = []
    watermark = EARLIEST
    for prefix in _prefixes(history):
        watermark = max(watermark, _watermark_of_sources(policy, sources, prefix))
        watermarks.append(watermark)
    return watermarks


def _prefixes(history: History) -> list[History]:
    """Return the first micro-batch, the first two, and so on up to all."""
    return [history[:count] for count in range(1, len(history) + 1)]


def _rows(history: History) -> Iterator[Row]:
    for batch in history:
        yield from batch


def _watermark_of_sources(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> int:
    """Return the least watermark of the sources that are waited for.

    An idle source is not waited for, unless its watermark goes on with the clock, at a lag. If all are idle, the
    watermark is the largest one.
    """
    watermarks = {source: _watermark_of_source(policy, source, history) for source in sources}
    waits_for_all = policy.idle is None or policy.idle.lag is not None
    if waits_for_all:
        return min(watermarks.values())
    awaited = [watermark for source, watermark in watermarks.items() if not _is_idle(policy, source, history)]
    return min(awaited) if awaited else max(watermarks.values())


def _watermark_of_source(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return the watermark of a source: by its rows, by punctuation, and by the clock while it was idle."""
    watermarks = [watermark_of_rows(policy, source, prefix) for prefix in _prefixes(history)]
    for row in _rows(history):
        if row.kind == "punctuate" and _speaks_for(row, source):
            watermarks.append(row.time)
    if policy.idle is not None and policy.idle.lag is not None:
        for prefix in _prefixes(history):
            if _is_idle(policy, source, prefix):
                watermarks.append(clock_of(prefix) - policy.idle.lag)
    return max(watermarks)


def watermark_of_rows(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return the watermark that a policy has for the rows of a source, after the last micro-batch of a history.

    It may be smaller than after an earlier micro-batch.
    """
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
        if len(starts) <= policy.rows:
            return EARLIEST
        return sorted(starts, reverse=True)[policy.rows]
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
    """Spread the rows of a micro-batch over one to four tasks, and return what these observe, in any order."""
    tasks: list[list[Row]] = [[] for _ in range(random.randint(1, 4))]
    for row in batch:
        random.choice(tasks).append(row)

    task_observations: list[Observation] = []
    for task_rows in tasks:
        row_observations = [_observation(row, policy) for row in task_rows if row.kind != "clock"]
        task_observations += merge_observations(row_observations, policy.starts_kept)
    random.shuffle(task_observations)
    return task_observations


def _observation(row: Row, policy: ProgressPolicy) -> Observation:
    if row.kind == "insert":
        return Observation(row.source, row.time, 1, (row.time,)[: policy.starts_kept])
    return Observation(row.source, watermark=row.time)


def random_history(random: Random, sources: Sequence[str | None]) -> History:
    """Draw up to twelve micro-batches of insertions, watermarks and readings of a clock, roughly in order of time."""
    now = random.randint(-50, 50)
    history = []
    for _ in range(random.randint(1, 12)):
        batch: list[Row] = []
        for _ in range(random.choice((0, 1, 2, 6))):
            now += random.choice((0, 1, 3))
            batch.append(_random_row(random, now, sources))
        history.append(batch)
        now += random.choice((0, 0, 20))  # a pause of 20 makes a source idle: tests wait for 15
    if random.random() < 0.1:  # some inputs end
        history[-1].append(Row("punctuate", INFINITY, random.choice([*sources, None])))
    return history


def _random_row(random: Random, now: int, sources: Sequence[str | None]) -> Row:
    """Draw a row: a reading of the clock, or a row of a source, whose time is up to 12 ticks ago."""
    kind = random.choice(("insert", "insert", "insert", "punctuate", "clock"))
    if kind == "clock":
        return Row(kind, now)
    source = random.choice([*sources, None]) if kind == "punctuate" else random.choice(sources)
    return Row(kind, now - random.randint(0, 12), source)
