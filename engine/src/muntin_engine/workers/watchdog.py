"""Looking after module code while it runs in a worker."""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from muntin import Axis
from muntin.errors import ModuleContractError, ModuleError, MuntinError
from muntin.safe_text import safe_repr
from muntin_engine.core.calls import CALLS, RUNNING, Call
from muntin_engine.workers.settings import WorkerSettings
from muntin_engine.workers.shared_code import SharedCode
from muntin_engine.workers.traces import FileTrace

_LOG: Final = logging.getLogger("muntin.watchdog")
_TRACES: Final[dict[tuple[str, int], FileTrace | None]] = {}
_LEAST_TICK: Final = 0.05
_LEAST_ALARM: Final = 30.0
_STUCK: Final = 75
"""The exit code of a worker that the watchdog ends: `EX_TEMPFAIL`, as it may be tried again."""


class RunsTooLongError(BaseException):
    """Raised inside a module that the watchdog ends; `except Exception` in the module does not hold it up."""

    def __init__(self) -> None:
        super().__init__("the watchdog of the session (spark.muntin.watchdog.seconds) ended it")


@contextmanager
def overseen(settings: WorkerSettings, axis: Axis) -> Iterator[None]:
    """Have what runs leave a trace, and the watchdog look at it, for as long as the context is.

    An error that does not say so itself gets a note on the module that ran last: modules may break what others use.

    Args:
        settings: Those of the session.
        axis: What ticks measure, for messages.

    Raises:
        ModuleContractError: A module replaced or removed code that all code of the worker uses; it is restored.
    """
    name = (settings.folder, os.getpid())
    if name not in _TRACES:  # a trace is of one process, and a fork has another one
        _TRACES.clear()
        try:
            _TRACES[name] = FileTrace(Path(settings.folder)) if settings.folder else None
        except (OSError, ValueError):
            _TRACES[name] = None
    trace = _TRACES[name]
    RUNNING.begin(trace)
    if trace is not None:
        trace.begin(axis)
    if settings.watchdog_seconds:
        _WATCHDOG.begin(settings, axis, trace)
    shared = SharedCode.now()
    try:
        yield
        if taken := shared.restore():
            raise _breaks(taken, axis)
    except GeneratorExit:
        _end(trace)
        raise
    except BaseException as error:  # the trace goes on: where the descriptors are closed, the process dies of it
        taken = shared.restore()
        os.environ.pop("SPARK_SIMPLIFIED_TRACEBACK", None)  # it leaves out causes: the module's own traceback
        if taken and not isinstance(error, ModuleError):  # it may be why a state cannot be read or written
            raise _breaks(taken, axis) from error
        if not isinstance(error, MuntinError) and (last := _last_call(axis)):
            error.add_note(f"  the module that ran last: {last}")
        raise
    else:
        _end(trace)
    finally:
        if settings.watchdog_seconds:
            _WATCHDOG.end()
        RUNNING.begin(None)


def _end(trace: FileTrace | None) -> None:
    if trace is not None:
        trace.end()


def _breaks(taken: Sequence[str], axis: Axis) -> ModuleContractError:
    names = f"{', '.join(taken[:3])}{f' and {len(taken) - 3} more' if len(taken) > 3 else ''}"
    label, *place = _last_call(axis).splitlines()
    return ModuleContractError(
        "\n".join(
            [
                f"{label or 'a module'} replaced or removed {names}, which all code of the worker uses",
                *place,
                "  leave the code of others as it is; it has been restored",
            ]
        )
    )


def _last_call(axis: Axis) -> str:
    """Return the module that ran last, and its key and window if they are known."""
    window = RUNNING.window
    if not RUNNING.label:
        return f"{RUNNING.earlier}, in an earlier task of this worker" if RUNNING.earlier else ""
    if window is None:
        return RUNNING.label
    interval = axis.spell_interval(window.start, window.end)
    return f"{RUNNING.label}\n  key: {safe_repr(RUNNING.key, 200)}\n  window: {interval}"


class Watchdog:
    """Looks, from a thread of its own, at the stack of the thread that runs modules.

    Cost: nothing for the modules; a look takes some ten microseconds, four times in the time that a call may take.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._wakes = threading.Event()
        self._lock = threading.Lock()
        self._settings = WorkerSettings()
        self._axis = Axis.TICKS
        self._trace: FileTrace | None = None
        self._watched: int | None = None
        self._frame: FrameType | None = None
        self._place = 0
        self._since = self._said = 0.0

    def begin(self, settings: WorkerSettings, axis: Axis, trace: FileTrace | None) -> None:
        """Look after the calling thread."""
        with self._lock:
            self._settings, self._axis, self._trace = settings, axis, trace
            self._frame, self._watched = None, threading.get_ident()
        if self._thread is None or not self._thread.is_alive():  # a fork has no threads but the one that forked
            self._thread = threading.Thread(target=self._run, name="muntin watchdog", daemon=True)
            self._thread.start()
        self._wakes.set()

    def end(self) -> None:
        """Look no more."""
        with self._lock:
            self._watched = self._frame = None
        self._wakes.clear()
        _disarm()

    def _run(self) -> None:
        while True:
            self._wakes.wait()
            seconds = self._settings.watchdog_seconds
            with self._lock:
                if self._watched is not None:
                    _arm(seconds, exits=self._settings.watchdog_fails)
                    self._look(time.monotonic())
            time.sleep(max(_LEAST_TICK, seconds / 4))

    def _look(self, now: float) -> None:
        """See whether the call is the one of the last look."""
        stack = _stack(sys._current_frames().get(self._watched or 0))
        if not stack:
            self._frame = None
            return
        frame = stack[-1]
        call = CALLS[frame.f_code](frame.f_locals)
        if frame is not self._frame or call.place != self._place:
            self._frame, self._place, self._since, self._said = frame, call.place, now, 0.0
            return
        took = now - self._since
        is_first = not self._said
        if took >= self._settings.watchdog_seconds and call.meter is not None:
            call.meter.ran_long(int(took * 1e9), is_new=is_first)
        if took >= self._settings.watchdog_seconds and took >= 2 * self._said:
            self._said = took
            self._report(call, took, stack)
            if self._settings.watchdog_fails:
                if not is_first:
                    os._exit(_STUCK)  # what is stuck in compiled code takes no exception
                _raise_in(self._watched)

    def _report(self, call: Call, took: float, stack: list[FrameType]) -> None:
        key, window = call.key, call.window
        if RUNNING.locate is not None:
            with suppress(Exception):  # the loop goes on meanwhile
                key, window = RUNNING.locate(call.place)
        elif window is None and RUNNING.window is not None:
            key, window = RUNNING.key, RUNNING.window
        lines = [f"{call.label} has been running for {took:,.0f} seconds in {call.method}"]
        if window is not None:
            lines += [
                f"  key: {safe_repr(key, 200)}",
                f"  window: {self._axis.spell_interval(window.start, window.end)}",
            ]
        lines += [f"  at {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" for frame in stack[:5]]
        text = "\n".join(lines)
        if self._trace is not None:
            self._trace.notice(text)
        _LOG.warning("%s", text)


_WATCHDOG: Final = Watchdog()


def _stack(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of a module's call, the innermost first and the one that makes it last; none without a call."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        if frame.f_code in CALLS:
            return found
        frame = frame.f_back
    return []


def _raise_in(thread: int | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread or 0), ctypes.py_object(RunsTooLongError))


def _arm(seconds: float, *, exits: bool) -> None:
    """Have the stacks written, and the process ended if it is to be, should no Python thread run for so long.

    So it is where compiled code holds on to the interpreter: then the watchdog cannot look either.
    """
    if "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS" not in os.environ:  # Spark's own way of using the same timer
        with suppress(Exception):
            faulthandler.dump_traceback_later(max(2 * seconds, _LEAST_ALARM), exit=exits)


def _disarm() -> None:
    if "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS" not in os.environ:
        faulthandler.cancel_dump_traceback_later()
