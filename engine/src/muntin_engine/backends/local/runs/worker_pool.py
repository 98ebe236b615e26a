"""Worker processes that evaluate parts of a query beside the process of the query, which evaluates parts as well.

So nobody waits while workers start, and there is one process less to start. The processes are loky's: they are started
anew and not forked, which macOS and Windows need, without importing the main program, so that scripts without a guard,
notebooks and programs from standard input can have them. They stay for the next query, and end when no query had them
for a while, or with this process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from muntin_engine.backends.local.runs.worker_jobs import Job, JobFailure, begin_worker, run_job
from muntin_engine.errors import SetupError

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

IDLE_SECONDS: Final = 30.0
"""The time after which processes end that no query uses."""

_NO_RESTARTS: Final = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}
"""The environment of worker processes: loky restarts one that seems to leak memory, as one with a large query would."""

_POLL_SECONDS: Final = 0.1
"""The time after which a wait for a worker is interrupted: to show progress, and on Windows to notice Ctrl-C."""

_JOBS_AHEAD: Final = 2
"""The number of jobs for each process that wait or run, or have results that nobody has taken yet."""


class PendingJob(NamedTuple):
    """A job that runs, waits for a worker, or has a result that was not yielded yet.

    Attributes:
        job: The job.
        future: Its result.
        is_of_worker: True if a worker runs it, and False if this process did.
    """

    job: Job
    future: Future[Any]
    is_of_worker: bool


class WorkerPool:
    """The worker processes beside this one. Queries that run at one time, in several threads, share them."""

    _lock: ClassVar[Lock] = Lock()
    _pools: ClassVar[dict[int, WorkerPool]] = {}

    def __init__(self, workers: int) -> None:
        """Start processes.

        Args:
            workers: The number of processes, with this one.
        """
        import loky  # it takes as long to import as a small query takes

        self.workers = workers
        self._users = 0  # the number of queries that use the processes now
        self._queries = 0  # the number of all queries that have used them
        # Without a timeout of loky's: by that, processes could end in the moment in which a query has a job for them.
        self._executor: ProcessPoolExecutor = loky.ProcessPoolExecutor(
            workers - 1, timeout=None, initializer=begin_worker, initargs=(workers,), env=_NO_RESTARTS
        )

    @classmethod
    def acquire(cls, workers: int) -> WorkerPool:
        """Return a pool of workers for a query, which has to release it: one that runs, or else a new one.

        Args:
            workers: The number of processes, with this one.
        """
        with cls._lock:
            if workers not in cls._pools:
                cls._pools[workers] = cls(workers)
            pool = cls._pools[workers]
            pool._users += 1
            pool._queries += 1
            return pool

    @classmethod
    def is_running(cls, workers: int) -> bool:
        """True if a pool of this number of processes runs, so that a query need not wait for the start of one."""
        with cls._lock:
            return workers in cls._pools

    def release(self, *, is_failed: bool) -> None:
        """Leave the processes to other queries; they are ended if no query uses them for a while.

        Args:
            is_failed: True if processes may still run jobs of the query, whose results nobody wants any more. They are
                then ended at once, unless another query uses them.
        """
        with self._lock:
            self._users -= 1
            is_unused = not self._users
            queries = self._queries
            if is_unused and is_failed:
                self._forget()  # still under the lock: another query must not acquire processes that are ended
        if is_unused and is_failed:
            self._executor.shutdown(wait=True, kill_workers=True)
        elif is_unused:
            timer = Timer(IDLE_SECONDS, self._end_if_unused, [queries])
            timer.daemon = True  # a program can end before it
            timer.start()

    def _end_if_unused(self, queries: int) -> None:
        """End the processes, unless a query has got them since the timer of this call was started.

        Args:
            queries: The number of queries that had got them by then.
        """
        with self._lock:
            is_unused = not self._users and self._queries == queries
            if is_unused:
                self._forget()
        if is_unused:
            self._executor.shutdown(wait=True, kill_workers=True)

    def _forget(self) -> None:
        """Drop this pool from the pools of the program, so that the next query starts new processes.

        The caller holds the lock.
        """
        # After a failure the pool may have been dropped already, and another one may stand in its place.
        if self._pools.get(self.workers) is self:
            del self._pools[self.workers]

    def results(
        self, jobs: Iterator[Job], task_file: Path, run_here: Callable[[Job], Any], wait: Callable[[], None]
    ) -> Iterator[tuple[Job, Any]]:
        """Run jobs in the worker processes and in this one, and yield each job with its result, in their order.

        Args:
            jobs: The jobs, which may need memory. So each is taken only shortly before a process runs it.
            task_file: The file with the query.
            run_here: The function that runs a job in this process. It is called while the workers are starting or busy.
            wait: A function that is called again and again while this process waits for a result.

        Raises:
            SetupError: A worker process was killed.
            Exception: A job raised an exception. If several did, that of the first job is raised.
        """
        pending: deque[PendingJob] = deque()  # the jobs whose results were not yielded yet, in their order
        while True:
            for job in islice(jobs, self._missing_jobs(pending)):
                pending.append(PendingJob(job, self._submit(job, task_file), is_of_worker=True))
            if not pending:
                return

            # Where the next result is not there yet, this process runs a job itself. It does not run ahead for ever:
            # results that wait for their turn need memory.
            is_next_done = pending[0].future.done()
            if not is_next_done and len(pending) < self.workers * _JOBS_AHEAD:
                job_here = next(jobs, None)
                if job_here is not None:
                    pending.append(PendingJob(job_here, _future_of_run(run_here, job_here), is_of_worker=False))
                    continue

            next_job = pending.popleft()
            yield next_job.job, self._wait_for_result(next_job.future, wait)

    def _missing_jobs(self, pending: Iterable[PendingJob]) -> int:
        """Return the number of further jobs that the workers need to stay busy."""
        unfinished = [entry for entry in pending if entry.is_of_worker and not entry.future.done()]
        return max((self.workers - 1) * _JOBS_AHEAD - len(unfinished), 0)

    def _submit(self, job: Job, task_file: Path) -> Future[Any]:
        """Hand a job to the worker processes, and return the future of its result.

        Args:
            job: The job.
            task_file: The file with the query.

        Raises:
            SetupError: A worker process was killed.
        """
        try:
            future: Future[Any] = self._executor.submit(run_job, job, task_file)
        except BrokenProcessPool as error:
            raise self._error_of_killed_worker(error) from error
        return future

    def _wait_for_result(self, future: Future[Any], wait: Callable[[], None]) -> Any:
        """Wait for the result of a job, and return it.

        Args:
            future: The future of the result.
            wait: A function that is called again and again until the result is there.

        Raises:
            SetupError: A worker process was killed.
            Exception: The job raised an exception.
        """
        while True:
            try:
                result = future.result(_POLL_SECONDS)
            except NotYetError:
                wait()
                continue
            except BrokenProcessPool as error:
                raise self._error_of_killed_worker(error) from error
            if isinstance(result, JobFailure):
                raise result.raised()
            return result

    def _error_of_killed_worker(self, error: BrokenProcessPool) -> SetupError:
        """Drop this pool, which runs no more jobs, and return the error for a worker that ended in a job.

        Args:
            error: The error of the pool of processes, whose first line says how the worker ended.
        """
        with self._lock:
            self._forget()
        lines = str(error).splitlines()
        return SetupError(
            "a worker process of the query was killed, or died in code that is not Python's\n"
            f"  {lines[0] if lines else 'it left no message'}\n"
            "  nothing was returned; often the machine had no memory left: try fewer processes, such as\n"
            "  results(workers=1), in which an error of a module shows itself as well"
        )


def _future_of_run(run_here: Callable[[Job], Any], job: Job) -> Future[Any]:
    """Run a job in this process, and return its result as a future, which raises an error when the result is due.

    Args:
        run_here: The function that runs the job.
        job: The job.
    """
    future: Future[Any] = Future()
    try:
        future.set_result(run_here(job))
    except Exception as error:
        future.set_exception(error)
    return future
