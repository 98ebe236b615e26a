"""The meaning of progress policies: for each prefix of a stream, everything is looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from muntin import EARLIEST, INFINITY
from muntin.progress import BoundedDelay, BoundedDisorder, Periodic, ProgressPolicy, SourceProgress
from muntin_engine.time.progress_tracker import Observation, merged
from tests.modules.progress_policies import Elapsing, Guarded, Outvoted


class Row(NamedTuple):
    """A row of a history.

    Attributes:
        kind: `insert`, `punctuate` or `clock`.
        time: Its start, the watermark, or the reading.
        source: Its source; None for a clock, and for watermark that speaks for all.
    """

    kind: str
    time: int
    source: str | None = None


History = Sequence[Sequence[Row]]
"""Micro-batches of rows."""


def punctuations(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> list[int]:
    """Return the watermark after each micro-batch."""
    found: list[int] = []
    for count in range(1, len(history) + 1):
        found.append(max([*found[-1:], _least(policy, sources, history[:count])]))
    return found


def _least(policy: ProgressPolicy, sources: Sequence[str | None], history: History) -> int:
    bounds = {source: _bound(policy, source, history) for source in sources}
    if policy.idle is None or policy.idle.lag is not None:
        return min(bounds.values())
    awaited = [bound for source, bound in bounds.items() if not _is_idle(policy, source, history)]
    return min(awaited) if awaited else max(bounds.values())


def _bound(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return how far a source is: by its rows, by watermark, and by the clock while it was idle."""
    prefixes = [history[:count] for count in range(1, len(history) + 1)]
    bounds = [implied(policy, source, prefix) for prefix in prefixes]
    bounds += [row.time for batch in history for row in batch if row.kind == "punctuate" and _speaks_for(row, source)]
    if policy.idle is not None and policy.idle.lag is not None:
        idle = [prefix for prefix in prefixes if _is_idle(policy, source, prefix)]
        bounds += [clock_of(prefix) - policy.idle.lag for prefix in idle]
    return max(bounds)


def implied(policy: ProgressPolicy, source: str | None, history: History) -> int:
    """Return how far a source is by what a policy says after the last micro-batch; it may have been further before."""
    starts = _starts(source, history)
    if not starts:
        return EARLIEST
    if isinstance(policy, Guarded | Elapsing | Outvoted):
        clock = clock_of(history)
        before = _starts(source, history[:-1])
        latest = sorted(starts, reverse=True)[: policy.starts_kept]
        reading = None if clock == EARLIEST else clock
        heard = _last_heard(source, history)
        said = policy.watermark(SourceProgress(max(starts), len(starts), tuple(latest), len(before), reading, heard))
        return EARLIEST if said is None else said
    if isinstance(policy, BoundedDelay):
        return max(starts) - policy.delay
    if isinstance(policy, BoundedDisorder):
        return sorted(starts, reverse=True)[policy.rows] if len(starts) > policy.rows else EARLIEST
    if isinstance(policy, Periodic) and policy.span is not None:
        return (max(starts) - policy.delay) // policy.span * policy.span
    if isinstance(policy, Periodic) and policy.rows is not None:
        passed = len(starts) // policy.rows > len(_starts(source, history[:-1])) // policy.rows
        return max(starts) - policy.delay if passed else EARLIEST
    return EARLIEST


def _is_idle(policy: ProgressPolicy, source: str | None, history: History) -> bool:
    """True if the clock has gone on for long enough since the micro-batch in which a source spoke last."""
    since = _last_heard(source, history)
    return policy.idle is not None and since is not None and clock_of(history) - since >= policy.idle.after


def _last_heard(source: str | None, history: History) -> int | None:
    """Return the clock after the micro-batch in which a source spoke last, or its first reading since."""
    spoke = (
        place for place in range(len(history), 0, -1) if any(_speaks_for(row, source) for row in history[place - 1])
    )
    clocks = (clock_of(history[:count]) for count in range(next(spoke, 1), len(history) + 1))
    return next((clock for clock in clocks if clock > EARLIEST), None)


def _starts(source: str | None, history: History) -> list[int]:
    return [row.time for batch in history for row in batch if row.kind == "insert" and row.source == source]


def _speaks_for(row: Row, source: str | None) -> bool:
    return row.kind != "clock" and row.source in (source, None)


def clock_of(history: History) -> int:
    return max((row.time for batch in history for row in batch if row.kind == "clock"), default=EARLIEST)


def seen_by_tasks(policy: ProgressPolicy, batch: Sequence[Row], random: Random) -> list[Observation]:
    """Return what some tasks see of a micro-batch, whose rows any of them may have got."""
    tasks: list[list[Row]] = [[] for _ in range(random.randint(1, 4))]
    for row in batch:
        random.choice(tasks).append(row)
    keep = policy.starts_kept
    seen = [some for task in tasks for some in merged((_seen(row, keep) for row in task if row.kind != "clock"), keep)]
    return random.sample(seen, len(seen))


def _seen(row: Row, keep: int) -> Observation:
    if row.kind == "insert":
        return Observation(row.source, row.time, 1, (row.time,)[:keep])
    return Observation(row.source, watermark=row.time)


def random_history(random: Random, sources: Sequence[str | None]) -> History:
    """Return some micro-batches of rows that come about in order, with watermark and a clock."""
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
