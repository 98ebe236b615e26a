"""Traces of what runs in a worker, in a file that outlives it.

The file is mapped into the worker's memory, so a few stores keep it up to date. The operating system has it when the
process ends in whatever way: by `os._exit`, a fault in compiled code, or for want of memory.
"""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muntin import Axis, Window
from muntin.safe_text import safe_repr

_RUNS, _START, _END, _HAS_PLACE, _NOTICES, _BEGAN, _IS_TIME, _ENDED = range(8)
_LABEL: Final = (64, 256)
_KEY: Final = (320, 1024)
_NOTICE: Final = (1344, 6144)
_SIZE: Final = 8192
_NOTHING: Final = object()


class FileTrace:
    """Writes what runs in this process.

    Cost: a quarter of a microsecond for a window, one more for another key.
    """

    def __init__(self, folder: Path) -> None:
        """Make the file of this process.

        Raises:
            OSError: It cannot be made.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / str(os.getpid())
        path.write_bytes(bytes(_SIZE))  # all of it: a full disk is an error here, and a signal later
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)
        self._numbers = memoryview(self._map)[: _LABEL[0]].cast("q")
        self._key: object = _NOTHING

    def begin(self, axis: Axis) -> None:
        """Take note that a task has begun."""
        self.module("")
        numbers = self._numbers
        numbers[_BEGAN], numbers[_IS_TIME], numbers[_RUNS] = time.time_ns(), axis is Axis.TIME, 1

    def end(self) -> None:
        """Take note that it has ended well, as far as is known: Spark has still to take what it returned."""
        self._numbers[_ENDED], self._numbers[_RUNS] = time.time_ns(), 0
        self._key = _NOTHING

    def module(self, label: str) -> None:
        """Take note of a module, whose window is not known yet."""
        self._numbers[_HAS_PLACE] = 0
        self._key = _NOTHING
        self._write(_LABEL, label)

    def place(self, key: object, window: Window) -> None:
        """Take note of a key and a window."""
        numbers = self._numbers
        numbers[_START], numbers[_END] = window.start, window.end
        if key is not self._key:
            self._key = key
            self._write(_KEY, safe_repr(key, 200))
            numbers[_HAS_PLACE] = 1

    def notice(self, text: str) -> None:
        """Leave a text for the driver to show."""
        self._write(_NOTICE, text)
        self._numbers[_NOTICES] += 1

    def _write(self, field: tuple[int, int], text: str) -> None:
        start, most = field
        data = text.encode("utf-8", "replace")[: most - 2]
        self._map[start : start + 2 + len(data)] = len(data).to_bytes(2, "little") + data


@dataclass(frozen=True, slots=True)
class LastCall:
    """The content of a trace.

    Attributes:
        pid: The process.
        began: The start of its task, in nanoseconds since the epoch.
        ended: The end of its last task that ended well, likewise.
        is_running: True unless the task has ended.
        label: The module that was called last; empty if none was.
        place: The key and the window, in words; empty where they are unknown.
        notices: The number of notices that it left.
        notice: The last one.
    """

    pid: int
    began: int
    ended: int
    is_running: bool
    label: str
    place: str
    notices: int
    notice: str

    @property
    def is_alive(self) -> bool:
        """True if the process is there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        try:  # one that has died and was not waited for is still there
            return Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return not Path("/proc/self").exists()

    @property
    def death_message(self) -> str:
        """The message about it if it has died."""
        ran = f"while or after {self.label} ran" if self.label else "before any module ran"
        return "\n".join(
            part for part in (f"a worker (process {self.pid}) died {ran}", self.place, self.notice) if part
        )


def read_traces(folder: Path) -> list[LastCall]:
    """Read the traces in a folder, in the order in which their tasks began."""
    found = []
    for path in sorted(folder.glob("[0-9]*")) if folder.is_dir() else ():
        try:
            found.append(_last_call(int(path.name), path.read_bytes()))
        except (OSError, ValueError):  # it has gone, or is none
            continue
    return sorted(found, key=lambda call: call.began)


def _last_call(pid: int, data: bytes) -> LastCall:
    if len(data) != _SIZE:
        raise ValueError(f"a trace has {_SIZE} bytes, not {len(data)}")
    numbers = memoryview(data)[: _LABEL[0]].cast("q")
    axis = Axis.TIME if numbers[_IS_TIME] else Axis.TICKS
    window = axis.spell_interval(numbers[_START], numbers[_END])
    place = f"  key: {_text(data, _KEY)}\n  window: {window}" if numbers[_HAS_PLACE] else ""
    label, notice = _text(data, _LABEL), _text(data, _NOTICE) if numbers[_NOTICES] else ""
    runs, began, ended = bool(numbers[_RUNS]), numbers[_BEGAN], numbers[_ENDED]
    return LastCall(pid, began, ended, runs, label, place, numbers[_NOTICES], notice)


def _text(data: bytes, field: tuple[int, int]) -> str:
    start, _ = field
    length = int.from_bytes(data[start : start + 2], "little")
    return data[start + 2 : start + 2 + length].decode("utf-8", "replace")
