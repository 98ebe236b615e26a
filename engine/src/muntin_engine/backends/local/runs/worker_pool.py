"""Worker processes that evaluate parts of a query side by side.

The processes are loky's: they are started anew and not forked, which macOS and Windows need, without importing the main
program, so that scripts without a guard, notebooks and programs from standard input can have them. They stay for the
next query, and end when no query had them for a while, or with this process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as NotYetError
from concurrent.futures.process import BrokenProcessPool
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, ClassVar, Final

from muntin_engine.backends.local.runs.worker_jobs import Job, JobFailure, begin_worker, run_job
from muntin_engine.errors import SetupError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from loky import ProcessPoolExecutor

IDLE_SECONDS: Final = 30.0
"""The time after which the processes end that no query has."""

_NO_RESTARTS: Final = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"}
"""The environment in which loky does not take the memory of a large query for a leak, and start a process anew."""

_POLL_SECONDS: Final = 0.1
"""The time after which a wait for a worker looks at Ctrl-C, which Windows has no other moment for, and at progress."""

_JOBS_AHEAD: Final = 2
"""The number of jobs for each worker that wait or run, or have results that nobody has taken yet."""


class WorkerPool:
    """A number of worker processes. Queries that run at one time, in several threads, share those of their number."""

    _lock: ClassVar[Lock] = Lock()
    _pools: ClassVar[dict[int, WorkerPool]] = {}

    def __init__(self, workers: int) -> None:
        """Start processes.

        Args:
            workers: The number of processes.
        """
        import loky  # it takes as long to import as a small query takes

        self.workers = workers
        self._users = 0
        self._queries = 0
        # Processes with a timeout of their own may end in the moment in which a query has a job for them.
        self._executor: ProcessPoolExecutor = loky.ProcessPoolExecutor(
            workers, timeout=None, initializer=begin_worker, initargs=(workers,), env=_NO_RESTARTS
        )

    @classmethod
    def acquire(cls, workers: int) -> WorkerPool:
        """Return a number of processes for a query, which releases them; they are started unless they run."""
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

    def results(self, jobs: Iterable[Job], wait: Callable[[], None]) -> Iterator[tuple[Job, Any]]:
        """Run jobs, and yield each with its result, in their order.

        Args:
            jobs: The jobs. No more are taken than the workers need.
            wait: A function that is called again and again while nothing else is to do.

        Raises:
            SetupError: A worker process was killed.
            Exception: What a job raised; of several, that of the first.
        """
        running: deque[tuple[Job, Future[Any]]] = deque()
        for job in jobs:
            running.append((job, self._submit(job)))
            if len(running) == self.workers * _JOBS_AHEAD:
                first_job, future = running.popleft()
                yield first_job, self._result(future, wait)
        for job, future in running:
            yield job, self._result(future, wait)

    def _submit(self, job: Job) -> Future[Any]:
        try:
            future: Future[Any] = self._executor.submit(run_job, job.function, *job.arguments)
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
