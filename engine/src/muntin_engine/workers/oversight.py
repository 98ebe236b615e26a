"""Supervision of module code in a worker: what ran, should the worker die, what it did to shared code, and its errors.

Spark's own settings watch the worker as a process: it ends one that sends nothing for long
(`spark.python.worker.idleTimeoutSeconds`) and tells the stack of one that crashed
(`spark.python.worker.faulthandler.enabled`). The module, the key and the window are what it cannot know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from muntin import Axis
from muntin.errors import ModuleContractError, ModuleError, ModuleFailedError, MuntinError
from muntin.errors.safe_text import safe_repr
from muntin_engine.errors import StateError
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.plan.axis_words import AxisWords
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.workers.shared_code import SharedCode
from muntin_engine.workers.traces import FileTrace

_TRACES: Final[dict[tuple[str, int], FileTrace | None]] = {}
"""The trace of this process, by folder and process id; None if its file could not be made."""

_MOST_NAMES: Final = 3
"""The number of names that a message lists of those that a module replaced."""


@contextmanager
def overseen(settings: WorkerSettings, axis: Axis) -> Iterator[None]:
    """Record what runs in the block, and restore shared code that a module of it replaced.

    An error that does not name a module itself gets a note on the one that ran last: modules may break what others use.

    Args:
        settings: The settings of the session.
        axis: The kind of ticks, for messages.

    Raises:
        ModuleContractError: A module replaced or removed code that all code of the worker uses; it is restored.
    """
    trace = _trace_of_process(settings.traces_folder)
    CURRENT_CALL.begin_task(trace)
    if trace is not None:
        trace.begin_task(axis)
    shared_code = SharedCode.now()
    try:
        yield
        replaced_names = shared_code.restore()
        if replaced_names:
            raise _broken_contract(replaced_names, axis)
    except GeneratorExit:  # Spark takes no more of the rows: a task that is cut short has not failed
        _end_task(trace)
        raise
    except BaseException as error:  # the trace goes on: where the descriptors are closed, the process dies of it
        replaced_names = shared_code.restore()
        os.environ.pop("SPARK_SIMPLIFIED_TRACEBACK", None)  # it leaves out causes: the module's own traceback
        if replaced_names and not isinstance(error, ModuleError):  # it may be why a state cannot be read or written
            raise _broken_contract(replaced_names, axis) from error
        last_call = _describe_last_call(axis)
        if last_call and _may_be_of_a_module(error):
            error.add_note(f"  the module that ran last: {last_call}")
        raise
    else:
        _end_task(trace)
    finally:
        CURRENT_CALL.begin_task(None)


@contextmanager
def windows_in_words(words: AxisWords) -> Iterator[None]:
    """Spell the window of an exception that a module raises in the block.

    Evaluators give it the module, the key and the ticks of the window; only the query knows what ticks mean.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    try:
        yield
    except ModuleFailedError as error:
        error.spell_window(words.axis.spell_interval)
        raise


def _trace_of_process(folder: str) -> FileTrace | None:
    """Return this process's trace; None if there is to be none, or its file cannot be made."""
    name = (folder, os.getpid())
    if name not in _TRACES:
        _TRACES.clear()  # a fork inherits the trace of its parent
        try:
            _TRACES[name] = FileTrace(Path(folder)) if folder else None
        except (OSError, ValueError):
            _TRACES[name] = None
    return _TRACES[name]


def _end_task(trace: FileTrace | None) -> None:
    if trace is not None:
        trace.end_task()


def _may_be_of_a_module(error: BaseException) -> bool:
    """Return True for an error that names no module, and that a module may have caused in the code of others."""
    if isinstance(error, StateError):  # it may be damaged in the checkpoint, too, before any module has run
        return bool(CURRENT_CALL.label) and CURRENT_CALL.label not in str(error)
    return not isinstance(error, MuntinError)


def _broken_contract(replaced_names: Sequence[str], axis: Axis) -> ModuleContractError:
    """Return the error of a module that replaced shared code."""
    names = ", ".join(replaced_names[:_MOST_NAMES])
    if len(replaced_names) > _MOST_NAMES:
        names += f" and {len(replaced_names) - _MOST_NAMES} more"
    label, *place = _describe_last_call(axis).splitlines()
    lines = [
        f"{label or 'a module'} replaced or removed {names}, which all code of the worker uses",
        *place,
        "  leave the code of others as it is; it has been restored",
    ]
    return ModuleContractError("\n".join(lines))


def _describe_last_call(axis: Axis) -> str:
    """Return the module that ran last, with its key and window if they are known; empty if none ran."""
    label = CURRENT_CALL.label
    if not label:
        previous = CURRENT_CALL.previous_label
        return f"{previous}, in an earlier task of this worker" if previous else ""
    located = CURRENT_CALL.located()
    if located is None:
        return label
    key, window = located
    interval = axis.spell_interval(window.start, window.end)
    return f"{label}\n  key: {safe_repr(key, 200)}\n  window: {interval}"
