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
"""The time after which the processes end that no query has."""

_NO_RESTARTS: Final = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}
"""The environment in which loky does not take the memory of a large query for a leak, and start a process anew."""

_POLL_SECONDS: Final = 0.1
"""The time after which a wait for a worker looks at Ctrl-C, which Windows has no other moment for, and at progress."""

_JOBS_AHEAD: Final = 2
"""The number of jobs for each process that wait or run, or have results that nobody has taken yet."""


class TakenJob(NamedTuple):
    """A job that runs, waits for a worker, or has a result that nobody has taken yet.

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
        self._users = 0
        self._queries = 0
        # Processes with a timeout of their own may end in the moment in which a query has a job for them.
        self._executor: ProcessPoolExecutor = loky.ProcessPoolExecutor(
            workers - 1, timeout=None, initializer=begin_worker, initargs=(workers,), env=_NO_RESTARTS
        )

    @classmethod
    def acquire(cls, workers: int) -> WorkerPool:
        """Return the workers of a number of processes for a query, which releases them; they start unless they run."""
        with cls._lock:
            if workers not in cls._pools:
                cls._pools[workers] = cls(workers)
            pool = cls._pools[workers]
            pool._users += 1
            pool._queries += 1
            return pool

    @classmethod
    def is_running(cls, workers: int) -> bool:
        """True if a number of processes runs, so that nobody waits for their start."""
        with cls._lock:
            return workers in cls._pools

    def release(self, *, is_failed: bool) -> None:
        """Leave the processes to other queries.

        Args:
            is_failed: True if they may still do what the query asked for. They are ended at once unless others use
                them.
        """
        with self._lock:
            self._users -= 1
            is_unused = not self._users
        if is_unused and is_failed:
            self._forget()
            self._executor.shutdown(wait=True, kill_workers=True)
        elif is_unused:
            timer = Timer(IDLE_SECONDS, self._end_if_unused, [self._queries])
            timer.daemon = True  # a program that is done does not wait for it
            timer.start()

    def _end_if_unused(self, queries: int) -> None:
        """End the processes unless a query has had them since.

        Args:
            queries: The number of queries that had them before.
        """
        with self._lock:
            is_unused = not self._users and self._queries == queries
            if is_unused and self._pools.get(self.workers) is self:
                del self._pools[self.workers]
        if is_unused:
            self._executor.shutdown(wait=True, kill_workers=True)

    def _forget(self) -> None:
        """Let the next query start processes of its own."""
        with self._lock:
            if self._pools.get(self.workers) is self:
                del self._pools[self.workers]

    def results(
        self, jobs: Iterator[Job], task_file: Path, run_here: Callable[[Job], Any], wait: Callable[[], None]
    ) -> Iterator[tuple[Job, Any]]:
        """Run jobs, in the worker processes and in this one, and yield each with its result, in their order.

        Args:
            jobs: The jobs. No more are taken than the processes need.
            task_file: The file with the query.
            run_here: The function that runs a job in this process, while the workers have jobs or are starting.
            wait: A function that is called again and again while nothing else is to do.

        Raises:
            SetupError: A worker process was killed.
            Exception: What a job raised; of several, that of the first.
        """
        taken: deque[TakenJob] = deque()
        while True:
            for job in islice(jobs, self._missing_jobs(taken)):
                taken.append(TakenJob(job, self._submit(job, task_file), is_of_worker=True))
            if not taken:
                return

            is_first_done = taken[0].future.done()
            own_job = next(jobs, None) if not is_first_done and len(taken) < self.workers * _JOBS_AHEAD else None
            if own_job is not None:
                taken.append(TakenJob(own_job, _done(run_here, own_job), is_of_worker=False))
                continue
            first = taken.popleft()
            yield first.job, self._result(first.future, wait)

    def _missing_jobs(self, taken: Iterable[TakenJob]) -> int:
        """Return the number of jobs that the workers take besides those that they have."""
        waiting = [entry for entry in taken if entry.is_of_worker and not entry.future.done()]
        return max((self.workers - 1) * _JOBS_AHEAD - len(waiting), 0)

    def _submit(self, job: Job, task_file: Path) -> Future[Any]:
        try:
            future: Future[Any] = self._executor.submit(run_job, job, task_file)
        except BrokenProcessPool as error:
            raise self._killed(error) from error
        return future

    def _result(self, future: Future[Any], wait: Callable[[], None]) -> Any:
        while True:
            try:
                result = future.result(_POLL_SECONDS)
            except NotYetError:
                wait()
                continue
            except BrokenProcessPool as error:
                raise self._killed(error) from error
            if isinstance(result, JobFailure):
                raise result.raised()
            return result

    def _killed(self, error: BrokenProcessPool) -> SetupError:
        """Return the error for a worker process that ended in the middle of a job."""
        self._forget()
        lines = str(error).splitlines()
        return SetupError(
            "a worker process of the query was killed, or died in code that is not Python's\n"
            f"  {lines[0] if lines else 'it left no message'}\n"
            "  nothing was returned; often the machine had no memory left: try fewer processes, such as\n"
            "  results(workers=1), in which an error of a module shows itself as well"
        )


def _done(run_here: Callable[[Job], Any], job: Job) -> Future[Any]:
    """Run a job in this process, and return its result or error as a worker's comes: it is raised in its turn."""
    future: Future[Any] = Future()
    try:
        future.set_result(run_here(job))
    except Exception as error:
        future.set_exception(error)
    return future
