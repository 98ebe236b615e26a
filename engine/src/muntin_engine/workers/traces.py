"""Traces of what runs in a worker, in a file that outlives it.

The file is mapped into the worker's memory, so a few stores keep it up to date. The operating system has it when the
process ends in whatever way: by `os._exit`, a fault in compiled code, a signal of Spark's, or for want of memory.
"""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from muntin import Axis, Window
from muntin.errors.safe_text import safe_repr

# The numbers at the beginning of a trace, by their place; each has eight bytes.
_IS_RUNNING: Final = 0
_START: Final = 1
_END: Final = 2
_HAS_WINDOW: Final = 3
_BEGAN: Final = 4
_ENDED: Final = 5
_IS_TIME: Final = 6
_NUMBERS_SIZE: Final = 64


class _TextField(NamedTuple):
    """A text of a trace: two bytes with its length, then the text.

    Attributes:
        start: The place of its first byte.
        size: The bytes that it may have, its length included.
    """

    start: int
    size: int


# The texts after the numbers.
_LABEL: Final = _TextField(64, 256)
_KEY: Final = _TextField(320, 1024)

_SIZE: Final = 2048
_NO_KEY: Final = object()


class FileTrace:
    """Records what runs in this process.

    Cost: a quarter of a microsecond for a window, one more for another key.
    """

    def __init__(self, folder: Path) -> None:
        """Make the file of this process.

        Raises:
            OSError: The file cannot be made.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / str(os.getpid())
        path.write_bytes(bytes(_SIZE))  # all of it: a full disk is an error here, and a signal later
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)
        self._numbers = memoryview(self._map)[:_NUMBERS_SIZE].cast("q")
        self._key: object = _NO_KEY

    def begin_task(self, axis: Axis) -> None:
        """Record that a task has begun."""
        self.set_module("")
        numbers = self._numbers
        numbers[_BEGAN] = time.time_ns()
        numbers[_IS_TIME] = axis is Axis.TIME
        numbers[_IS_RUNNING] = 1

    def end_task(self) -> None:
        """Record that the task has ended well, as far as is known: Spark has still to take what it returned."""
        self._numbers[_ENDED] = time.time_ns()
        self._numbers[_IS_RUNNING] = 0
        self._key = _NO_KEY

    def set_module(self, label: str) -> None:
        """Record a module, whose window is not known yet."""
        self._numbers[_HAS_WINDOW] = 0
        self._key = _NO_KEY
        self._write(_LABEL, label)

    def set_window(self, key: object, window: Window) -> None:
        """Record a key and a window."""
        numbers = self._numbers
        numbers[_START] = window.start
        numbers[_END] = window.end
        if key is not self._key:  # by identity, as spelling a key takes longer than all else here
            self._key = key
            self._write(_KEY, safe_repr(key, 200))
            numbers[_HAS_WINDOW] = 1

    def _write(self, field: _TextField, text: str) -> None:
        """Write a text with its length, in one store: whoever reads the file may do so at any moment."""
        data = text.encode("utf-8", "replace")[: field.size - 2]
        end = field.start + 2 + len(data)
        self._map[field.start : end] = len(data).to_bytes(2, "little") + data


@dataclass(frozen=True, slots=True)
class WorkerTrace:
    """The content of a worker's trace.

    Attributes:
        pid: The process.
        began: The start of its task, in nanoseconds since the epoch.
        ended: The end of its last task that ended well, likewise.
        is_running: True unless the task has ended.
        label: The module that was called last; empty if none was.
        place: The key and the window, in words; empty where they are unknown.
    """

    pid: int
    began: int
    ended: int
    is_running: bool
    label: str
    place: str

    @property
    def is_alive(self) -> bool:
        """True if the process is there."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        # A process that has died and was not waited for is still there, as a zombie: its state, the first word behind
        # the name in parentheses, is Z. Where there is no /proc, as on macOS, that cannot be seen.
        try:
            return Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return not Path("/proc/self").exists()

    @property
    def last_call(self) -> str:
        """The module that was called last, with its key and window if they are known; empty if none was."""
        return "\n".join(line for line in (self.label, self.place) if line)

    @property
    def death_message(self) -> str:
        """The message about the worker if it has died."""
        if not self.label:
            return f"a worker (process {self.pid}) died before any module ran"
        message = f"a worker (process {self.pid}) died while or after {self.label} ran"
        return f"{message}\n{self.place}" if self.place else message


def read_traces(folder: Path) -> list[WorkerTrace]:
    """Read the traces in a folder, in the order in which their tasks began."""
    traces: list[WorkerTrace] = []
    if folder.is_dir():
        for path in sorted(folder.glob("[0-9]*")):
            try:
                traces.append(_parse_trace(int(path.name), path.read_bytes()))
            except (OSError, ValueError):  # it was removed meanwhile, or is no trace
                continue
    return sorted(traces, key=lambda trace: trace.began)


def _parse_trace(pid: int, data: bytes) -> WorkerTrace:
    """Return the trace that a file holds.

    Raises:
        ValueError: The file is no trace.
    """
    if len(data) != _SIZE:
        raise ValueError(f"a trace has {_SIZE} bytes, not {len(data)}")
    numbers = memoryview(data)[:_NUMBERS_SIZE].cast("q")
    place = ""
    if numbers[_HAS_WINDOW]:
        axis = Axis.TIME if numbers[_IS_TIME] else Axis.TICKS
        window = axis.spell_interval(numbers[_START], numbers[_END])
        place = f"  key: {_read(data, _KEY)}\n  window: {window}"
    return WorkerTrace(
        pid=pid,
        began=numbers[_BEGAN],
        ended=numbers[_ENDED],
        is_running=bool(numbers[_IS_RUNNING]),
        label=_read(data, _LABEL),
        place=place,
    )


def _read(data: bytes, field: _TextField) -> str:
    """Return a text of a trace; one that was cut within a character has a sign for it."""
    start = field.start + 2
    length = int.from_bytes(data[field.start : start], "little")
    return data[start : start + length].decode("utf-8", "replace")
