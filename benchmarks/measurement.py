"""The measurements of a run of a system, and the summary of several runs: their medians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch.

    Attributes:
        rows: Input rows; none in the batch that Spark runs after the last rows to close the windows they completed.
        seconds: Time from its trigger to its commit.
        output_rows: Emitted rows; None if unknown.
        state_bytes: Size of the state store after the batch, in memory and in files, as the store reports it.
        written_bytes: Bytes that the batch wrote to the state store, uncompressed.
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
    """

    seconds: float
    batches: tuple[Batch, ...]
    memory: Memory = Memory()
    is_cut: bool = False
    cpu_seconds: float | None = None

    @property
    def rows(self) -> int:
        """Input rows that were processed."""
        return sum(batch.rows for batch in self.batches)

    @property
    def warm_batches(self) -> tuple[Batch, ...]:
        """The batches with rows, without the first."""
        return tuple(batch for batch in self.batches if batch.rows)[1:]


@dataclass(frozen=True, slots=True)
class Summary:
    """The medians of runs of one system. Figures that were not measured are None.

    Attributes:
        runs: Number of runs.
        is_cut: True if a run was stopped at its time limit.
        rows: Input rows of a run.
        seconds: End to end.
        rows_per_second: Input rows over the seconds end to end.
        cpu_seconds: Processor time of a run.
        first_batch: Seconds of the first micro-batch: the warm-up inside a run.
        warm_batch: Seconds of a later one with rows: the median in each run, then over runs.
        warm_rate: Input rows of a warm micro-batch over its seconds.
        output_rows: Emitted rows of a run.
        emitted: Rows that were emitted by the end of each micro-batch of the first run; empty if unknown.
        jvm_bytes: See `Memory`.
        python_bytes: See `Memory`.
        worker_bytes: See `Memory`.
        state_bytes: Greatest size of the state store in a run.
        written_bytes: Bytes that a warm micro-batch wrote to the state store.
        written_in_all: Bytes that a run wrote to the state store.
    """

    runs: int
    is_cut: bool
    rows: int
    seconds: float
    rows_per_second: float
    cpu_seconds: float | None = None
    first_batch: float | None = None
    warm_batch: float | None = None
    warm_rate: float | None = None
    output_rows: float | None = None
    emitted: tuple[int, ...] = ()
    jvm_bytes: float | None = None
    python_bytes: float | None = None
    worker_bytes: float | None = None
    state_bytes: float | None = None
    written_bytes: float | None = None
    written_in_all: float | None = None


def summarize(runs: Sequence[Run]) -> Summary:
    """Return the medians of runs of the same question by the same system; at least one."""

    def over_runs(measure: Callable[[Run], float | None]) -> float | None:
        """Return the median of a figure over the runs in which it was measured."""
        return _median(map(measure, runs))

    return Summary(
        runs=len(runs),
        is_cut=any(run.is_cut for run in runs),
        rows=round(median(run.rows for run in runs)),
        seconds=median(run.seconds for run in runs),
        rows_per_second=median(run.rows / run.seconds for run in runs),
        cpu_seconds=over_runs(lambda run: run.cpu_seconds),
        first_batch=over_runs(lambda run: run.batches[0].seconds if len(run.batches) > 1 else None),
        warm_batch=over_runs(lambda run: _median(batch.seconds for batch in run.warm_batches)),
        warm_rate=over_runs(lambda run: _median(batch.rows / batch.seconds for batch in run.warm_batches)),
        output_rows=over_runs(lambda run: _total(batch.output_rows for batch in run.batches)),
        emitted=tuple(accumulate(batch.output_rows for batch in runs[0].batches if batch.output_rows is not None)),
        jvm_bytes=over_runs(lambda run: run.memory.jvm or None),
        python_bytes=over_runs(lambda run: run.memory.python or None),
        worker_bytes=over_runs(lambda run: run.memory.worker or None),
        state_bytes=over_runs(lambda run: max(_measured(batch.state_bytes for batch in run.batches), default=None)),
        written_bytes=over_runs(lambda run: _median(batch.written_bytes for batch in run.warm_batches)),
        written_in_all=over_runs(lambda run: _total(batch.written_bytes for batch in run.batches)),
    )


def _measured(values: Iterable[float | None]) -> list[float]:
    """Return the values that were measured."""
    return [value for value in values if value is not None]


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of the values that were measured; None if none was."""
    measured = _measured(values)
    return median(measured) if measured else None


def _total(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that were measured; None if none was."""
    measured = _measured(values)
    return sum(measured) if measured else None
