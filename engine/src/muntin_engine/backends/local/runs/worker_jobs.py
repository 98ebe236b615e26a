"""The jobs of a run that is shared: they read a part of an input, or evaluate a bucket, and return what they made."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import traceback
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pyarrow as pa

from muntin.errors.safe_text import safe_message
from muntin_engine.backends.local.database import MEMORY_PERCENT, limit_database
from muntin_engine.backends.local.runs.exchange import BucketInput, SentBlobs
from muntin_engine.backends.local.runs.freed_memory import hand_back_freed_memory
from muntin_engine.backends.local.runs.run_input import InputPiece
from muntin_engine.backends.local.runs.task_runs import TaskOutput, run_static_bucket, run_without_state
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.task_payload import TaskPayload

_PARENT_SECONDS: Final = 1.0
"""The time after which a worker looks again whether the process that started it is there."""


class Job(ABC):
    """A piece of work of a run, for a worker process or for the process of the query."""

    @property
    @abstractmethod
    def amount(self) -> int:
        """The amount of work, as its stage counts it."""

    @abstractmethod
    def run(self, task: TaskPayload) -> Any:
        """Do the work in the process of the query, where Ctrl-C ends it.

        Args:
            task: The query.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """

    @abstractmethod
    def run_in_worker(self, task: TaskPayload, folder: Path) -> Any:
        """Do the work in a worker process.

        Args:
            task: The query.
            folder: The folder of the temporary files of the run.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """


@dataclass(frozen=True)
class MapJob(Job):
    """The map task of a piece of an input."""

    piece: InputPiece

    @property
    def amount(self) -> int:
        """The number of rows."""
        return self.piece.rows

    def run(self, task: TaskPayload) -> SentBlobs:
        """Run the map task, and return the blobs and reports that it sends."""
        with closing(self.piece.batches_in_thread()) as batches:
            return SentBlobs.of(distribute(task, batches))

    def run_in_worker(self, task: TaskPayload, folder: Path) -> SentBlobs:
        """Run the map task, and return the blobs, as places in a file, and the reports that it sends."""
        sent = SentBlobs.of(distribute(task, self.piece.batches()))
        sent.spill(folder)
        return sent


@dataclass(frozen=True)
class StatelessJob(Job):
    """The evaluation of a piece of an input without state."""

    piece: InputPiece

    @property
    def amount(self) -> int:
        """The number of rows."""
        return self.piece.rows

    def run(self, task: TaskPayload) -> list[TaskOutput]:
        """Return the output."""
        with closing(self.piece.batches_in_thread()) as batches:
            return list(run_without_state(task, batches))

    def run_in_worker(self, task: TaskPayload, folder: Path) -> list[TaskOutput]:
        """Return the output."""
        del folder
        return list(run_without_state(task, self.piece.batches()))


@dataclass(frozen=True)
class BucketJob(Job):
    """The evaluation of a bucket."""

    bucket: int
    bucket_input: BucketInput

    @property
    def amount(self) -> int:
        """One bucket."""
        return 1

    def run(self, task: TaskPayload) -> TaskOutput:
        """Return the output of the bucket."""
        return run_static_bucket(task, self.bucket, self.bucket_input)

    def run_in_worker(self, task: TaskPayload, folder: Path) -> TaskOutput:
        """Return the output of the bucket."""
        del folder
        return self.run(task)


@dataclass(frozen=True, slots=True)
class JobFailure:
    """An error in a worker process.

    Attributes:
        error: The error.
        cause: The error that led to it; None if there was none.
        trace: The traceback of the worker, as text.
    """

    error: Exception
    cause: BaseException | None
    trace: str

    def raised(self) -> Exception:
        """Return the error with its cause, as it was raised in the worker, and the worker's traceback as a note."""
        self.error.__cause__ = self.cause
        self.error.add_note(f"in a worker process:\n{self.trace}")
        return self.error


def begin_worker(workers: int) -> None:
    """Prepare a process for its jobs.

    Args:
        workers: The number of processes, which share the memory of the machine.
    """
    # A terminal sends Ctrl-C to all processes of a program. The process of the query reacts, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, name="muntin-parent", daemon=True).start()
    pa.set_cpu_count(1)  # each of the other cores has another worker
    limit_database(threads=1, memory_percent=max(MEMORY_PERCENT // workers, 1))


def _end_with_parent() -> None:
    """Wait until the process that started this one has ended, and end this one: a killed process ends no workers."""
    from multiprocessing import parent_process  # a query without workers does without it

    parent = parent_process()
    assert parent is not None
    if sys.platform == "win32":
        parent.join()
    else:
        while os.getppid() == parent.pid:  # an orphan gets another parent
            time.sleep(_PARENT_SECONDS)
    os._exit(1)  # at once: `sys.exit` would end this thread only


def run_job(job: Job, task_file: Path) -> Any:
    """Run a job in a worker process, and return its result; a `JobFailure` if it raises an exception.

    Args:
        job: The job.
        task_file: The file with the query, in the folder of the temporary files of its run.
    """
    try:
        return job.run_in_worker(open_task(task_file), task_file.parent)
    except Exception as error:
        return failure_of(error)
    finally:
        # Another worker may get the next job, and this one would hold the memory of its largest job until the end.
        hand_back_freed_memory()


def failure_of(error: Exception) -> JobFailure:
    """Return an error as it travels to another process: a `RuntimeError` of its text where it cannot be pickled."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    if not _can_travel(error):
        return JobFailure(RuntimeError(safe_message(error)), cause=None, trace=trace)
    cause = error.__cause__
    if cause is not None and not _can_travel(cause):
        cause = None  # the text of the cause still travels, in the traceback
    return JobFailure(error, cause, trace)


def _can_travel(error: BaseException) -> bool:
    """True if an error can be pickled, and another process can make it of its bytes again."""
    import cloudpickle

    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        # The class of the error may be of a module, and its `__reduce__` or `__init__` may raise anything. Whatever
        # that is, the text and the traceback of the error itself travel instead.
        return False
    return True


@lru_cache(4)
def open_task(file: Path) -> TaskPayload:
    """Return the query in a file; a worker unpickles it with the first job of a run, and not again."""
    task: TaskPayload = pickle.loads(file.read_bytes())
    return task
