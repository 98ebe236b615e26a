"""The jobs of worker processes: they read a part of an input, or evaluate a bucket, and return what they made."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from muntin.errors.safe_text import safe_message
from muntin_engine.backends.local.database import MEMORY_PERCENT, limit_database
from muntin_engine.backends.local.runs.exchange import BucketInput, SentBlobs
from muntin_engine.backends.local.runs.freed_memory import hand_back_freed_memory
from muntin_engine.backends.local.runs.run_input import InputPiece
from muntin_engine.backends.local.runs.task_runs import TaskOutput, run_static_bucket, run_without_state
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.task_payload import TaskPayload


class Job(NamedTuple):
    """A piece of work for a worker.

    Attributes:
        function: The function that does it.
        arguments: Its arguments.
        amount: The amount of work, as its stage counts it.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    amount: int


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
        """Return the error as the worker raised it, with a note on the place where that was."""
        self.error.__cause__ = self.cause
        self.error.add_note(f"in a worker process:\n{self.trace}")
        return self.error


def begin_worker(workers: int) -> None:
    """Prepare a process for its jobs.

    Args:
        workers: The number of processes, which share the memory of the machine.
    """
    # A terminal sends Ctrl-C to all processes of a program: the one that a user started ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_cpu_count(1)  # the other cores have workers of their own
    limit_database(threads=1, memory_percent=max(MEMORY_PERCENT // workers, 1))


def run_job(job: Callable[..., Any], *arguments: Any) -> Any:
    """Run a job; return what it returns, or its failure."""
    try:
        return job(*arguments)
    except Exception as error:
        return failure_of(error)
    finally:
        # The next job may be of another worker, and this one would keep what its largest job has needed.
        hand_back_freed_memory()


def failure_of(error: Exception) -> JobFailure:
    """Return an error as it travels to another process, as text where it cannot."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    if not _arrives(error):
        return JobFailure(RuntimeError(safe_message(error)), None, trace)
    cause = error.__cause__
    return JobFailure(error, cause if cause is None or _arrives(cause) else None, trace)


def _arrives(error: BaseException) -> bool:
    """Say whether another process can have an error."""
    import cloudpickle

    try:
        pickle.loads(cloudpickle.dumps(error))
    except Exception:
        # Only code of the error's class runs here, which a module brought: its `__reduce__` or `__init__` may raise
        # anything, and whoever reads the failure then gets the text and the traceback of the error itself.
        return False
    return True


@lru_cache(4)
def open_task(file: Path) -> TaskPayload:
    """Return the query in a file, which is opened once."""
    task: TaskPayload = pickle.loads(file.read_bytes())
    return task


def map_piece(task_file: Path, piece: InputPiece) -> SentBlobs:
    """Run the map task of a piece of an input."""
    sent = SentBlobs()
    for batch in distribute(open_task(task_file), piece.batches()):
        sent.add_batch(batch)
    sent.spill(task_file.parent)
    return sent


def evaluate_piece(task_file: Path, piece: InputPiece) -> list[TaskOutput]:
    """Evaluate a piece of an input without state."""
    return list(run_without_state(open_task(task_file), piece.batches()))


def evaluate_bucket(task_file: Path, bucket: int, bucket_input: BucketInput) -> TaskOutput:
    """Evaluate a bucket."""
    return run_static_bucket(open_task(task_file), bucket, bucket_input)
