"""The traces of workers on the driver's machine: of dead ones, and of those that a watchdog warns of."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from muntin_engine.workers.traces import LastCall, read_traces

LOG: Final = logging.getLogger("muntin.watchdog")
"""The log of warnings of modules that run for long."""

_EVERY_SECONDS: Final = 1.0
_IDLE_NANOSECONDS: Final = 60 * 10**9
"""Spark ends a worker that was idle for so long."""
_FOLDERS: Final[list[Path]] = []
_LOCK: Final = threading.Lock()


def traces_folder() -> str:
    """Return the folder for the traces of this program's workers; it is removed when the program ends."""
    with _LOCK:
        if not _FOLDERS:
            _FOLDERS.append(Path(tempfile.mkdtemp(prefix="muntin-running-")))
            atexit.register(shutil.rmtree, _FOLDERS[0], ignore_errors=True)
            threading.Thread(target=_log_notices, args=(_FOLDERS[0],), name="muntin traces", daemon=True).start()
        return str(_FOLDERS[0])


def last_death(folders: list[Path] | None = None) -> str:
    """Return the last call of the worker on this machine that died, in a task or after it; empty if none did.

    Spark ends the workers of other tasks when one dies, and nothing tells which was first: then all are named.
    """
    dead = [call for folder in folders or _FOLDERS for call in read_traces(folder) if _has_died(call)]
    in_a_task = [call for call in dead if call.is_running]
    if len(in_a_task) > 1:
        messages = [call.death_message for call in in_a_task]
        return "\n".join(["one of these workers died, and Spark ended the others:", *messages])
    if in_a_task:
        return in_a_task[0].death_message
    return max(dead, key=lambda call: call.began).death_message if dead else ""


def last_module(folders: list[Path] | None = None) -> str:
    """Return the module that was called last by a worker on this machine, with its place; empty if none was."""
    found = [call for folder in folders or _FOLDERS for call in read_traces(folder) if call.label]
    last = max(found, key=lambda call: call.began, default=None)
    return "" if last is None else "\n".join(part for part in (last.label, last.place) if part)


def remove_dead_traces() -> None:
    """Remove the traces of workers that are gone, as a new query starts."""
    for folder in _FOLDERS:
        for call in read_traces(folder):
            if not call.is_alive:
                with suppress(OSError):
                    (folder / str(call.pid)).unlink()


def _has_died(call: LastCall) -> bool:
    """True for a worker that died: during a task, or where Spark could not take what a module's task returned."""
    is_fresh = bool(call.label) and time.time_ns() - call.ended < _IDLE_NANOSECONDS
    return (call.is_running or is_fresh) and not call.is_alive


def _log_notices(folder: Path) -> None:
    """Log the notices that workers leave."""
    seen: dict[int, int] = {}
    while not threading.Event().wait(_EVERY_SECONDS):
        for call in read_traces(folder):
            if call.notices > seen.get(call.pid, 0):
                LOG.warning("%s", call.notice)
            seen[call.pid] = call.notices
