"""The folder of workers' traces: which modules run in the workers of this machine, and ran in workers that died."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from muntin_engine.workers.traces import WorkerTrace, read_traces

_PREFIX: Final = "muntin-running-"
"""The beginning of the name of a program's folder, in the folder for temporary files."""

_IDLE_NANOSECONDS: Final = 60 * 10**9
"""The time after which Spark ends an idle worker."""

_FOLDERS: Final[list[Path]] = []
"""The folder of this program; empty before it is made."""

_LOCK: Final = threading.Lock()


def traces_folder() -> str:
    """Return the folder for the traces of this program's workers, which is removed when the program ends."""
    with _LOCK:
        if not _FOLDERS:
            _FOLDERS.append(Path(tempfile.mkdtemp(prefix=_PREFIX)))
            atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
        return str(_FOLDERS[0])


def describe_workers() -> str:
    """Describe the workers on this machine that are in a task, or died in one, whichever program they belong to.

    Returns:
        A text with the module that each worker called last, with its key and window if they are known; for a worker
        that is alive, also with the time for which its task has run.
    """
    now = time.time_ns()
    descriptions: list[str] = []
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        for trace in read_traces(folder):
            if not trace.is_running:
                continue
            if not trace.is_alive:
                descriptions.append(trace.death_message)
                continue
            seconds = (now - trace.began) // 10**9
            module = trace.last_call or "no module yet"
            descriptions.append(f"a worker (process {trace.pid}) has been in a task for {seconds:,} seconds: {module}")
    return "\n".join(descriptions) or "no worker on this machine is in a task"


def last_death(folders: Sequence[Path] | None = None) -> str:
    """Describe the last call of a worker on this machine that died, in a task or after it; empty if none died.

    When a worker dies, Spark ends the workers of other tasks. Which one died first is not known, so all that died in
    tasks are described. If all died after their tasks, it is the one whose task began last.

    Args:
        folders: The folders of the traces; None for that of this program.
    """
    deaths = [trace for trace in _traces(folders) if _has_died(trace)]
    deaths_in_tasks = [trace for trace in deaths if trace.is_running]
    if len(deaths_in_tasks) > 1:
        messages = [trace.death_message for trace in deaths_in_tasks]
        return "\n".join(["one of these workers died, and Spark ended the others:", *messages])
    if deaths_in_tasks:
        return deaths_in_tasks[0].death_message
    if not deaths:
        return ""
    return max(deaths, key=lambda trace: trace.began).death_message


def last_module(folders: Sequence[Path] | None = None) -> str:
    """Return the module that a worker on this machine called last, with its key and window; empty if none called one.

    Args:
        folders: The folders of the traces; None for that of this program.
    """
    traces_with_module = [trace for trace in _traces(folders) if trace.label]
    if not traces_with_module:
        return ""
    return max(traces_with_module, key=lambda trace: trace.began).last_call


def remove_dead_traces() -> None:
    """Remove the traces of dead workers, so that their deaths are not ascribed to a new query."""
    for folder in _FOLDERS:
        for trace in read_traces(folder):
            if not trace.is_alive:
                with suppress(OSError):
                    (folder / str(trace.pid)).unlink()


def _traces(folders: Sequence[Path] | None) -> list[WorkerTrace]:
    """Read the traces in folders; None for the folder of this program."""
    traces: list[WorkerTrace] = []
    for folder in _FOLDERS if folders is None else folders:
        traces += read_traces(folder)
    return traces


def _has_died(trace: WorkerTrace) -> bool:
    """Say whether a worker died in a task, or soon after a task in which a module ran.

    A worker may die after its task, while it sends rows to Spark. If it ended long after the task, Spark ended it as it
    was idle.
    """
    if trace.is_alive:
        return False
    ended_just_now = time.time_ns() - trace.ended < _IDLE_NANOSECONDS
    return trace.is_running or (bool(trace.label) and ended_just_now)
