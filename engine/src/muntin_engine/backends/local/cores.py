"""The number of processes that evaluate a query."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from muntin.errors import QueryError

_WORKERS_OF_CALL: Final[ContextVar[int | None]] = ContextVar("workers_of_call", default=None)
"""The number of processes that the query writer gave the call that runs now; None if the call has none."""


def check_workers(workers: object) -> None:
    """Check that a value is a number of processes.

    Raises:
        QueryError: The value is no whole number above zero.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise QueryError(
            "{argument} is no number of processes\n  expected: 1 or more, such as workers=4; without it all cores",
            argument="workers",
            value=workers,
        )


@contextmanager
def call_with_workers(workers: int | None) -> Iterator[None]:
    """Set the number of processes for all queries that run in a block: a query, and the queries whose results it reads.

    Args:
        workers: The number of processes that the query writer gave; None to use the cores of this process.
    """
    token = _WORKERS_OF_CALL.set(workers)
    try:
        yield
    finally:
        _WORKERS_OF_CALL.reset(token)


def worker_count() -> int:
    """Return the number of processes that may evaluate a query: the one of `call_with_workers`, or else all cores."""
    # Importing multiprocessing takes time, so it is only looked up: a process that another one started has it already.
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return 1  # this process is a worker of a pool itself, whose other workers use the other cores
    workers = _WORKERS_OF_CALL.get()
    return available_cores() if workers is None else workers


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "process_cpu_count"):  # since Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
