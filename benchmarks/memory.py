"""A thread that looks at the memory of processes while a run goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it

from benchmarks.measurement import Memory

INTERVAL: Final = 0.25
"""Seconds between two looks."""

_IDLE: Final = 0.02
"""The seconds of CPU up to which a process counts as one that has nothing to do with a run."""


class MemoryWatch:
    """Samples the processes below one, and keeps the most that was seen.

    Python workers of earlier runs that do nothing in this one are left out.

    Args:
        root: The process id at the top.
        with_root: True if the top itself is one of the processes that compute.
    """

    def __init__(self, root: int, with_root: bool) -> None:
        self.peak = Memory()
        self._root = psutil.Process(root)
        self._with_root = with_root
        self._cpu_at_start = self._cpu_of_others()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory watch", daemon=True)

    @classmethod
    @contextmanager
    def over(cls, root: int, with_root: bool) -> Iterator[Self]:
        """Watch until the block ends."""
        watch = cls(root, with_root)
        watch._thread.start()
        try:
            yield watch
        finally:
            watch._ended.set()
            watch._thread.join()

    def _watch(self) -> None:
        """Look again and again until the run has ended, and once more then."""
        while not self._ended.wait(INTERVAL):
            self._update_peak()
        self._update_peak()

    def _update_peak(self) -> None:
        """Raise the peaks to the memory that JVMs, the Pythons together and the largest Python hold now."""
        jvm = 0
        python = 0
        worker = 0
        for process in self._processes():
            try:
                if _is_java(process):  # a JVM that starts a process is two for a moment; shares add up
                    jvm += _share(process)
                elif _cpu(process) > self._cpu_at_start.get(process.pid, -1.0) + _IDLE:
                    share = _share(process)
                    python += share
                    worker = max(worker, share)
            except psutil.Error:  # it has ended
                continue
        self.peak = Memory(max(self.peak.jvm, jvm), max(self.peak.python, python), max(self.peak.worker, worker))

    def _cpu_of_others(self) -> dict[int, float]:
        """Return the seconds of CPU that the processes below the root have taken."""
        seconds: dict[int, float] = {}
        for process in self._processes():
            with suppress(psutil.Error):
                seconds[process.pid] = _cpu(process)
        seconds.pop(self._root.pid, None)
        return seconds

    def _processes(self) -> list[psutil.Process]:
        """Return the processes that are watched; none once the root has ended."""
        try:
            below = self._root.children(recursive=True)
        except psutil.Error:
            return []
        return [self._root, *below] if self._with_root else below


def processor_time(root: int) -> float:
    """Return the seconds of CPU that the processes below one have taken, with those that have ended."""
    total = 0.0
    for process in psutil.Process(root).children(recursive=True):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])  # of its own, and of the children that it waited for
    return total


def _is_java(process: psutil.Process) -> bool:
    """Return True of a JVM, and of the copy that it is for a moment when it starts a process: named as its thread."""
    return "java" in process.name() or Path(process.exe()).name == "java"


def _cpu(process: psutil.Process) -> float:
    """Return the seconds of CPU that a process has taken."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _share(process: psutil.Process) -> int:
    """Return the proportional share of memory of a process, or its resident memory where the system has no shares."""
    full = process.memory_full_info()
    return int(getattr(full, "pss", full.rss))
