"""The number of processes that evaluate a query."""

from __future__ import annotations

import os
import sys

from muntin.errors import QueryError


def check_workers(workers: object) -> None:
    """Refuse what is no number of processes.

    Raises:
        QueryError: It is no whole number above zero.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise QueryError(
            "{argument} is no number of processes\n  expected: 1 or more, such as workers=4; without it all cores",
            argument="workers",
            value=workers,
        )


def worker_count(workers: int | None) -> int:
    """Return the number of processes that may evaluate a query.

    Args:
        workers: The number that the query writer gave; None for the cores that this process may use.
    """
    processes = sys.modules.get("multiprocessing.process")  # a process that others started has imported it
    if processes is not None and processes.parent_process() is not None:
        return 1  # this process is of a pool itself, whose processes use the other cores
    return available_cores() if workers is None else workers


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "process_cpu_count"):  # since Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
