"""Traces of the module that runs in a worker, each in a file that outlives the worker.

The file is mapped into the worker's memory, so a few stores to memory update it. The operating system keeps the file
however the process ends: by `os._exit`, a fault in compiled code, a signal of Spark's, or for want of memory.
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

# A trace begins with numbers of eight bytes each. These are their places.
_IS_RUNNING: Final = 0
_START: Final = 1
_END: Final = 2
_HAS_WINDOW: Final = 3
_BEGAN: Final = 4
_ENDED: Final = 5
_IS_TIME: Final = 6
_NUMBERS_SIZE: Final = 64


class _TextField(NamedTuple):
    """A text in a trace: two bytes with its length, and then the text.

    Attributes:
        start: The place of the first byte of the length.
        size: The number of bytes that the length and the text may have together.
    """

    start: int
    size: int


# The texts after the numbers.
_LABEL: Final = _TextField(64, 256)
_KEY: Final = _TextField(320, 1024)

_SIZE: Final = 2048
"""The number of bytes of a trace."""

_NO_KEY: Final = object()
"""The key while no key is recorded; None may be a key."""


class FileTrace:
    """Records which module runs in this process, and for which key and window.

    Cost: a quarter of a microsecond for a window, and a microsecond more if the key is another one.
    """

    def __init__(self, folder: Path) -> None:
        """Make the file of this process, which has the id of the process as its name.

        Raises:
            OSError: The file cannot be made.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / str(os.getpid())
        # All bytes are written now: a full disk raises an error here, but a store to mapped memory would end the
        # process.
        path.write_bytes(bytes(_SIZE))
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
        """Record that the task has ended without an error; Spark may still reject the rows that it returned."""
        self._numbers[_ENDED] = time.time_ns()
        self._numbers[_IS_RUNNING] = 0
        self._key = _NO_KEY

    def set_module(self, label: str) -> None:
        """Record that a module is called, for a window that is not known yet."""
        self._numbers[_HAS_WINDOW] = 0
        self._key = _NO_KEY
        self._write(_LABEL, label)

    def set_window(self, key: object, window: Window) -> None:
        """Record the key and the window for which the module is called."""
        numbers = self._numbers
        numbers[_START] = window.start
        numbers[_END] = window.end
        # A key is spelled only if it is not the one of the last call, as this takes longer than all else here. After
        # `set_module` there is no such key.
        if key is not self._key:
            self._key = key
            self._write(_KEY, safe_repr(key, 200))
            numbers[_HAS_WINDOW] = 1

    def _write(self, field: _TextField, text: str) -> None:
        """Write a text with its length in one store, as another process may read the file at any moment."""
        data = text.encode("utf-8", "replace")[: field.size - 2]
        end = field.start + 2 + len(data)
        self._map[field.start : end] = len(data).to_bytes(2, "little") + data


@dataclass(frozen=True, slots=True)
class WorkerTrace:
    """The content of a worker's trace.

    Attributes:
        pid: The id of the process.
        began: The start of its last task, in nanoseconds since the epoch.
        ended: The end of the last task that ended without an error, in nanoseconds since the epoch; 0 if none did.
        is_running: True unless the last task ended without an error.
        label: The name and version of the module that was called last; empty if none was.
        place: The key and the window in words, a line each; empty if they are unknown.
    """

    pid: int
    began: int
    ended: int
    is_running: bool
    label: str
    place: str

    @property
    def is_alive(self) -> bool:
        """True if the process still runs."""
        try:
            os.kill(self.pid, 0)  # sends no signal, and only looks for the process
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        # A process that has died and that its parent has not waited for is found too: its state is Z, a zombie. The
        # state is the first word after the name in parentheses. Without /proc, as on macOS, zombies cannot be
        # recognized.
        try:
            status = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return not Path("/proc/self").exists()
        _, _, after_name = status.rpartition(")")
        return after_name.split()[0] != "Z"

    @property
    def last_call(self) -> str:
        """The module that was called last, with lines for its key and window if they are known; empty if none was."""
        return "\n".join(line for line in (self.label, self.place) if line)

    @property
    def death_message(self) -> str:
        """The message about the worker, if it has died."""
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
            except (OSError, ValueError):  # the file was removed meanwhile, or is no trace
                continue
    return sorted(traces, key=lambda trace: trace.began)


def _parse_trace(pid: int, data: bytes) -> WorkerTrace:
    """Return the trace that a file holds.

    Args:
        pid: The id of the process that wrote the file.
        data: The content of the file.

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
    """Return a text of a trace. If it was cut within a character, a replacement character stands at its end."""
    start = field.start + 2
    length = int.from_bytes(data[field.start : start], "little")
    return data[start : start + length].decode("utf-8", "replace")
