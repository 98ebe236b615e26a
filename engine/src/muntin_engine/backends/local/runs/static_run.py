"""The run of a query over static input: its map tasks, the exchange, and its buckets.

A run begins in this process. When what is left is known to take longer than workers take to start, pieces of the input
and buckets go to them and to this process, which goes on while they start; results are taken in the order in which this
process alone would have made them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.backends.local.inputs.local_rows import LocalRows
from muntin_engine.backends.local.runs.exchange import Exchange
from muntin_engine.backends.local.runs.freed_memory import hand_back_freed_memory
from muntin_engine.backends.local.runs.run_input import InputSide, RunInput, run_input
from muntin_engine.backends.local.runs.run_progress import RunProgress, Stage
from muntin_engine.backends.local.runs.spilled_blobs import SpillFolder
from muntin_engine.backends.local.runs.task_runs import TaskOutput, run_static_bucket, run_without_state
from muntin_engine.backends.local.runs.worker_jobs import BucketJob, Job, MapJob, StatelessJob
from muntin_engine.packages.pickled_code import pickled_with_local_code
from muntin_engine.tasks.evaluator_registry import load_evaluator
from muntin_engine.tasks.map_task import distribute, rows_at_once
from muntin_engine.wire.shuffle import RowCounts

if TYPE_CHECKING:
    from muntin_engine.backends.local.runs.worker_pool import WorkerPool
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.wire.task_payload import TaskPayload

START_SECONDS: Final = 1.0
"""The seconds of work left for which workers are started: a worker takes half a second to start."""

WARM_SECONDS: Final = 0.3
"""The seconds of work left for which workers that run already are used."""

_LOG: Final = logging.getLogger("muntin.workers")


class StaticRun:
    """One run of a query.

    Attributes:
        row_counts: The counts of rows that no bucket gets, once the first bucket has run.
    """

    def __init__(self, query: PlannedQuery, task: TaskPayload, workers: int) -> None:
        """Take a query.

        Args:
            query: The query.
            task: The query as it travels.
            workers: The number of processes that may evaluate it.
        """
        self.row_counts = RowCounts()
        self._query = query
        self._task = task
        self._workers = workers
        self._folder = SpillFolder()
        self._progress = RunProgress()
        self._pool: WorkerPool | None = None
        self._task_file = Path()  # known once there are workers, which read the query from it

    def outputs(self) -> Iterator[TaskOutput]:
        """Run the query, and yield its output bucket by bucket; a bucket's rows are freed after it has run.

        Raises:
            QueryError: A row of the input cannot be read.
            ModuleFailedError: A module raised an exception, with its key and window.
            SetupError: A worker process was killed.
            KeyboardInterrupt: The program was interrupted.
        """
        keeps_state = self._task.plan.choice.keeps_state
        # Loaded before the clock of a stage starts: otherwise the first rows would seem slow, and workers would be
        # started for a short run.
        load_evaluator(self._task.plan.choice.evaluator)
        with self._folder, self._progress:
            is_failed = True  # it stays so after an error, after Ctrl-C, and when the caller stops before the end
            try:
                with _interrupts_at_once():
                    if keeps_state:
                        yield from self._outputs_of_buckets()
                    else:
                        yield from self._outputs_without_state()
                is_failed = False
            finally:
                if self._pool is not None:
                    self._pool.release(is_failed=is_failed)

    def _outputs_of_buckets(self) -> Iterator[TaskOutput]:
        """Send all rows to the buckets of their keys, then evaluate bucket by bucket, and yield the output of each."""
        # Each stage begins in this process. Where it takes long, workers take the rest of it.
        exchange = Exchange(self._task, self._folder)
        for source in self._inputs():
            stage = self._progress.begin("rows read", source.total_rows)
            with closing(source):
                # This process sends the first rows; where there are workers by then, `pieces` has the rows that follow.
                exchange.add_batches(distribute(self._task, self._batches_read_here(source, stage)))
                for sent in self._results_of_jobs(map(MapJob, source.pieces()), stage):
                    exchange.add(sent)
        self.row_counts = exchange.row_counts

        buckets = exchange.buckets()
        stage = self._progress.begin("parts of the keys evaluated", len(buckets))
        while buckets and not self._start_workers_if_long(stage):
            bucket = buckets.pop(0)
            yield run_static_bucket(self._task, bucket, exchange.pop_input(bucket))
            stage.add(1)
        jobs = (BucketJob(bucket, exchange.pop_input(bucket)) for bucket in buckets)
        yield from self._results_of_jobs(jobs, stage)

    def _outputs_without_state(self) -> Iterator[TaskOutput]:
        """Evaluate the rows of the only input as they are read, and yield the output part by part."""
        (source,) = self._inputs()
        stage = self._progress.begin("rows read", source.total_rows)
        with closing(source):
            # This process reads on until the input ends or until workers take over. `pieces` has what it left unread:
            # nothing if no workers were started.
            yield from run_without_state(self._task, self._batches_read_here(source, stage))
            for outputs in self._results_of_jobs(map(StatelessJob, source.pieces()), stage):
                yield from outputs

    def _inputs(self) -> Iterator[RunInput]:
        """Yield the inputs of the query, opening each only when the one before has been read."""
        count = len(self._query.sources)
        batch_rows = rows_at_once(self._task)
        for side, source in enumerate(self._query.sources):
            rows: Any = source.df
            assert isinstance(rows, LocalRows), "the planner of this backend projects no other rows"
            yield run_input(rows, InputSide(side, count), self._workers, batch_rows)

    def _batches_read_here(self, source: RunInput, stage: Stage) -> Iterator[pa.RecordBatch]:
        """Read an input in this process, until its end or until workers read the rest of it."""

        def are_workers_next(rows: int) -> bool:
            """Count rows that were read, and return True if workers read the rest."""
            stage.add(rows)
            return self._start_workers_if_long(stage)

        if not self._start_workers_if_long(stage):
            yield from source.batches_until(are_workers_next)

    def _results_of_jobs(self, jobs: Iterator[Job], stage: Stage) -> Iterator[Any]:
        """Run what this process has left of a stage, in it and in workers; yield the results in the order of the jobs.

        Args:
            jobs: The jobs that are left, each of which is made when it is taken. None is taken in a run without
                workers, which leaves none.
            stage: The stage, which counts the jobs that are done.
        """
        if self._pool is None:
            return  # this process has done all jobs of the stage
        hand_back_freed_memory()  # workers need the memory of rows that this process has read and sent
        for job, result in self._pool.results(jobs, self._task_file, self._run_here, self._progress.refresh):
            stage.add(job.amount)
            self._progress.refresh()
            yield result

    def _run_here(self, job: Job) -> Any:
        """Run a job in this process beside the workers."""
        try:
            # The pool keeps an error of a job, and raises it when the result of the job is due. Ctrl-C is no error of a
            # job: it ends the run at once.
            with _interrupts_at_once():
                return job.run(self._task)
        finally:
            self._progress.refresh()
            hand_back_freed_memory()

    def _start_workers_if_long(self, stage: Stage) -> bool:
        """Start workers if the rest of a stage is expected to take long; also show how far the stage is.

        Returns:
            True if there are workers: they take the rest of this stage, and all of the stages that follow.
        """
        self._progress.refresh()
        if self._pool is not None:
            return True
        if self._workers == 1:
            return False
        seconds = stage.expected_seconds
        if seconds < WARM_SECONDS:
            return False  # less work is left than pays for sending it, even to workers that run already
        from muntin_engine.backends.local.runs.worker_pool import WorkerPool  # small queries do without its imports

        if seconds < START_SECONDS and not WorkerPool.is_running(self._workers):
            return False  # less work is left than pays for the start of workers

        packed_task = self._packed_task()
        if packed_task is None:
            self._workers = 1  # so that nothing tries again
            return False
        self._task_file = self._folder.path / "task"
        self._task_file.write_bytes(packed_task)
        self._pool = WorkerPool.acquire(self._workers)
        return True

    def _packed_task(self) -> bytes | None:
        """Return the query as bytes for workers; None, with a warning, if its modules cannot be pickled."""
        import cloudpickle  # not with the module: most runs have no workers

        try:
            return pickled_with_local_code(cloudpickle, self._task)
        except Exception as error:  # anything that the parts of a module raise when they are pickled
            _LOG.warning(
                "the query runs in one process, as its modules cannot be sent to others: %s\n"
                "  results(workers=1) says that this is meant",
                error,
            )
            return None


@contextmanager
def _interrupts_at_once() -> Iterator[None]:
    """Raise Ctrl-C as it is, also if it came while a module ran, where it looks like a failure of the module.

    Raises:
        KeyboardInterrupt: The program was interrupted in the block.
    """
    try:
        yield
    except ModuleFailedError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
