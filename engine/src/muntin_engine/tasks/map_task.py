"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Progress
from muntin_engine.core.key_patterns import Told
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.progress import Observation, merged
from muntin_engine.tasks.durations import Durations
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.reported_progress import signals_in
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.key_buckets import by_bucket
from muntin_engine.wire.shuffle import by_side, exchanged, pack_observations, pack_patterns
from muntin_engine.wire.task_payload import TaskPayload

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows

MOST_ROWS: Final = 100_000
"""After how many rows a task sends its blobs; also after `MOST_BYTES`."""

MOST_LIFTED: Final = 2_000_000
"""The same where it sends partial states, of which there are the fewer the more rows they are made of."""

MOST_BYTES: Final = 64 * 2**20


def distribute(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], recorded: RecordedRows | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task as blobs for their buckets, or what their partial states are; then their progress.

    Args:
        task: The query.
        batches: Its projected rows.
        recorded: Where these are recorded, if they are.

    Cost: a few vectorised passes over the rows. A blob has at most `MOST_ROWS` rows and one Arrow batch more.
    """
    distribution = Distribution(task, recorded)
    for batch in batches:
        yield from distribution.take(batch)
    yield from distribution.finish()


class Distribution:
    """The map side of a query in one task, which is handed batches of rows; several may take turns."""

    def __init__(self, task: TaskPayload, recorded: RecordedRows | None = None) -> None:
        self._task, self._recorded = task, recorded
        self._evaluator = BY_NAME[task.plan.choice.evaluator]
        self._most = MOST_LIFTED if self._evaluator.lifts else MOST_ROWS
        self._waiting: list[pa.RecordBatch] = []
        self._durations, self._progress = Durations(task), [Progress()] * len(task.inputs)
        self._observed, self._signals = [list[Observation]() for _ in task.inputs], frozenset[str]()
        self._patterns = [list[Told]() for _ in task.inputs]
        self._skipped = [0] * (len(task.choosy_labels) + 2)

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of a batch and of those that waited for more: each costs the same few hundred calls."""
        if self._recorded is not None:
            self._recorded.take(batch)
        self._waiting.append(batch)
        rows, size = sum(map(len, self._waiting)), sum(some.nbytes for some in self._waiting)
        if rows >= self._most or size >= MOST_BYTES:
            yield from self._send()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of what still waits, then the progress of all rows for each bucket."""
        if self._waiting:
            yield from self._send()
        task, count = self._task, len(self._task.buckets)
        to_one = {"durations": self._durations.pack(), "skipped": self._skipped}
        first: dict[str, Sequence[Any]] = {name: [value, *[None] * (count - 1)] for name, value in to_one.items()}
        sides = self._told()
        if self._recorded is not None:
            self._recorded.finish(sides, self._signals)
        for side, (seen, observed, patterns) in enumerate(sides):
            told = {"signals": sorted(self._signals), "observed": observed, "patterns": patterns}
            to_all: dict[str, Sequence[Any]] = {name: [value] * count for name, value in told.items()}
            yield exchanged(task, list(task.buckets), {**to_all, **({} if side else first)}, seen, side)

    def _told(self) -> list[tuple[Progress, bytes | None, bytes | None]]:
        """Return what the rows so far say of each input: progress, observations of sources, patterns of keys."""
        observations = (pack_observations(some) if some else None for some in self._observed)
        return list(zip(self._progress, observations, map(pack_patterns, self._patterns), strict=True))

    def _send(self) -> Iterator[pa.RecordBatch]:
        batch, self._waiting = pa.concat_batches(self._waiting), []
        lifts, stages = self._evaluator.lifts, self._durations.stages
        for given, part in by_side(self._task, batch):
            side = given.side
            with stages["distribute"]:
                rows, seen, sources, patterns, unaccepted, *others = read_rows(given, part)
                self._patterns[side] += patterns
                self._progress[side] = self._progress[side].advance(seen)
                if sources:
                    self._observed[side] = merged([*self._observed[side], *sources], given.tracker.starts_kept)
                self._skipped = list(map(add, self._skipped, [*unaccepted, *others]))
                if "signal" in part.schema.names:
                    self._signals |= signals_in(part)
            with stages["lift" if lifts else "distribute"]:
                send = partial(_lifted, evaluator=self._evaluator) if lifts else _blobs
                try:
                    sent = list(send(self._task, rows, side))
                except ModuleFailedError:
                    if self._recorded is not None:  # the rows that led there are what one looks for
                        self._recorded.finish(self._told(), self._signals)
                    raise
            yield from sent


def _blobs(task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield one blob for each bucket that has rows; the rows of a bucket keep their order."""
    own = by_bucket(rows, task.key_names, task.plan.buckets)
    if sent := {task.buckets[place]: to_blob(some) for place, some in own}:
        yield exchanged(task, list(sent), {"rows": list(sent.values())}, Progress(), side)


def _lifted(task: TaskPayload, rows: pa.Table, side: int, evaluator: Evaluator) -> Iterator[pa.RecordBatch]:
    """Yield the partial states of the good rows for each bucket that has any, and the other rows as they are."""
    problems = rows.column("problem")
    if problems.null_count < len(problems):
        yield from _blobs(task, rows.filter(pc.is_valid(problems)), side)
        rows = rows.filter(pc.is_null(problems))
    try:
        lifted = list(evaluator.lift(task, rows, side))
    except ModuleFailedError as error:
        error.say_window(task.plan.words.spell_interval)
        raise
    blobs, oldest = [blob.blob for blob in lifted], [pc.min(rows.column("start")).as_py()] * len(lifted)
    columns = {"evaluator_blobs": blobs, "oldest": oldest}
    yield exchanged(task, [task.buckets[blob.bucket] for blob in lifted], columns, Progress(), side)
