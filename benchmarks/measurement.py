"""The measurements of one run, and the summary of several: their medians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch.

    Attributes:
        rows: Input rows; none in the batch that Spark runs after the last rows to close what they completed.
        seconds: From its trigger to its commit.
        output_rows: Emitted rows; None if unknown.
        state_bytes: What the state store holds after it, in memory and in files, as the store reports it.
        written_bytes: What the batch wrote to the state store, uncompressed.
    """

    rows: int
    seconds: float
    output_rows: int | None = None
    state_bytes: int | None = None
    written_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """The most memory that was in use at a time, in bytes.

    It is the proportional share (PSS), in which pages of several processes count once; resident (RSS) where the system
    has no PSS.

    Attributes:
        jvm: Of Java processes. A JVM keeps what it had once, so this includes earlier runs in it.
        python: Of the other processes that compute: Python's.
        worker: Of the largest of these.
    """

    jvm: int = 0
    python: int = 0
    worker: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one system.

    Attributes:
        seconds: End to end: from the start of the query to its end. Of a run that was cut, those of its batches.
        batches: Its micro-batches in order; one for a system that has none.
        memory: The most it used.
        is_cut: True if it was stopped because its time was over; the batch it was in does not count.
        cpu_seconds: Processor time of the processes that compute, of all cores together; None if unknown.
        row_bytes: What a row of the input takes in memory, in columns; None if unknown.
    """

    seconds: float
    batches: tuple[Batch, ...]
    memory: Memory = Memory()
    is_cut: bool = False
    cpu_seconds: float | None = None
    row_bytes: int | None = None

    @property
    def rows(self) -> int:
        """Input rows that were processed."""
        return sum(batch.rows for batch in self.batches)

    @property
    def output_rows(self) -> int | None:
        """Emitted rows; None if unknown."""
        return _total(batch.output_rows for batch in self.batches)

    @property
    def has_batches(self) -> bool:
        """True if there are several micro-batches, or one that reports its state: a stream that had one file."""
        return len(self.batches) > 1 or any(batch.state_bytes is not None for batch in self.batches)

    @property
    def written_share(self) -> float | None:
        """What was written to the state store, over what the rows take; None if unknown."""
        written = _total(batch.written_bytes for batch in self.batches)
        return written / (self.rows * self.row_bytes) if written is not None and self.rows and self.row_bytes else None

    @property
    def warm(self) -> tuple[Batch, ...]:
        """The batches with rows, without the first."""
        return tuple(batch for batch in self.batches if batch.rows)[1:]


@dataclass(frozen=True, slots=True)
class Summary:
    """The medians of some runs of one system. What was not measured is None.

    Attributes:
        runs: How many.
        is_cut: True if the time of one was over.
        seconds: End to end.
        rows_per_second: Input rows over the seconds end to end.
        first_batch: Seconds of the first micro-batch, where a system has such: the warm-up inside a run.
        warm_batch: Seconds of a later one with rows: the median in each run, then over runs.
        output_rows: Emitted rows of a run.
        jvm_bytes: See `Memory`.
        python_bytes: See `Memory`.
        worker_bytes: See `Memory`.
        state_bytes: The most the state store held in a run.
        written_bytes: What a warm micro-batch wrote to the state store.
        cpu_seconds: Processor time of a run.
        warm_rate: Input rows of a warm micro-batch over its seconds.
        written_share: What a run wrote to the state store, over what its rows take in memory.
        emitted: Rows that were emitted by the end of each micro-batch of the first run; empty if unknown.
        rows: Input rows of a run.
    """

    runs: int
    is_cut: bool
    rows: int
    seconds: float
    rows_per_second: float
    first_batch: float | None = None
    warm_batch: float | None = None
    output_rows: float | None = None
    jvm_bytes: float | None = None
    python_bytes: float | None = None
    worker_bytes: float | None = None
    state_bytes: float | None = None
    written_bytes: float | None = None
    cpu_seconds: float | None = None
    warm_rate: float | None = None
    written_share: float | None = None
    emitted: tuple[int, ...] = ()


def summarize(runs: Sequence[Run]) -> Summary:
    """Return the medians of runs of the same work by the same system; at least one."""
    return Summary(
        runs=len(runs),
        is_cut=any(run.is_cut for run in runs),
        rows=round(median(run.rows for run in runs)),
        seconds=median(run.seconds for run in runs),
        rows_per_second=median(run.rows / run.seconds for run in runs),
        first_batch=_over(runs, lambda run: run.batches[0].seconds if run.has_batches else None),
        warm_batch=_over(runs, lambda run: _middle(batch.seconds for batch in run.warm)),
        output_rows=_over(runs, lambda run: run.output_rows),
        jvm_bytes=_over(runs, lambda run: run.memory.jvm or None),
        python_bytes=_over(runs, lambda run: run.memory.python or None),
        worker_bytes=_over(runs, lambda run: run.memory.worker or None),
        state_bytes=_over(runs, lambda run: _largest(batch.state_bytes for batch in run.batches)),
        written_bytes=_over(runs, lambda run: _middle(batch.written_bytes for batch in run.warm)),
        cpu_seconds=_over(runs, lambda run: run.cpu_seconds),
        warm_rate=_over(runs, lambda run: _middle(batch.rows / batch.seconds for batch in run.warm)),
        written_share=_over(runs, lambda run: run.written_share),
        emitted=tuple(accumulate(batch.output_rows for batch in runs[0].batches if batch.output_rows is not None)),
    )


def _over(runs: Iterable[Run], measure: Callable[[Run], float | None]) -> float | None:
    return _middle(map(measure, runs))


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
