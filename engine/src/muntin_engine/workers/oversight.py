"""Supervision of module code in a worker: which module ran if the worker dies, changes to shared code, and errors.

Spark itself watches a worker as a process: it ends one that sends nothing for long
(`spark.python.worker.idleTimeoutSeconds`), and shows the stack of one that crashed
(`spark.python.worker.faulthandler.enabled`). But it cannot know the module, the key and the window.
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
"""The trace of this process, by its folder and the id of the process; None if there is no trace."""

_MOST_NAMES: Final = 3
"""The number of replaced names that a message lists."""


@contextmanager
def overseen(settings: WorkerSettings, axis: Axis) -> Iterator[None]:
    """Record which modules run in the block, and restore shared code that they replaced.

    An error that does not name a module gets a note with the module that ran last, which may have broken code of
    others.

    Args:
        settings: The settings of the session.
        axis: The kind of ticks, for messages.

    Raises:
        ModuleContractError: A module replaced or removed code that all code of the worker uses, and that is restored
            now.
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
            raise _broken_contract(replaced_names, axis)  # goes through `except BaseException` below without a change
    except GeneratorExit:  # Spark needs no more rows of the task, which has not failed
        shared_code.restore()  # for the next task of the worker; nobody would get an error about it
        _end_task(trace)
        raise
    except BaseException as error:
        # The trace still says that the task runs. For the process may die of this error: a module may have closed its
        # files, for example.
        replaced_names = shared_code.restore()
        os.environ.pop("SPARK_SIMPLIFIED_TRACEBACK", None)  # it would leave out causes, and so the module's traceback
        # Replaced code may be the reason for an error such as a state that cannot be read, so it is reported instead.
        if replaced_names and not isinstance(error, ModuleError):
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
    """Complete the error about an exception that a module raises in the block, by its window in words.

    Evaluators add the module, the key and the ticks of the window, but only the query knows whether ticks are times.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    try:
        yield
    except ModuleFailedError as error:
        error.spell_window(words.axis.spell_interval)
        raise


def _trace_of_process(folder: str) -> FileTrace | None:
    """Return the trace of this process, which is made once.

    Args:
        folder: The folder of traces; empty if there are to be none.

    Returns:
        The trace; None if there is to be none, and if its file cannot be made: then the task runs without it.
    """
    process = (folder, os.getpid())
    if process not in _TRACES:
        _TRACES.clear()  # a forked process inherits the trace of its parent
        try:
            _TRACES[process] = FileTrace(Path(folder)) if folder else None
        except (OSError, ValueError):
            _TRACES[process] = None
    return _TRACES[process]


def _end_task(trace: FileTrace | None) -> None:
    """Record in the trace, if there is one, that the task has ended without an error."""
    if trace is not None:
        trace.end_task()


def _may_be_of_a_module(error: BaseException) -> bool:
    """Say whether a module that the error does not name may have caused it in the code of others."""
    if isinstance(error, StateError):  # the checkpoint may be damaged, too: then no module has run in this task
        return bool(CURRENT_CALL.label) and CURRENT_CALL.label not in str(error)
    return not isinstance(error, MuntinError)


def _broken_contract(replaced_names: Sequence[str], axis: Axis) -> ModuleContractError:
    """Return the error about a module that replaced shared code: the one that ran last, if any did."""
    names = ", ".join(replaced_names[:_MOST_NAMES])
    if len(replaced_names) > _MOST_NAMES:
        names += f" and {len(replaced_names) - _MOST_NAMES} more"
    label, *place = _describe_last_call(axis).split("\n")  # the lines after the first have the key and the window
    lines = [
        f"{label or 'a module'} replaced or removed {names}, which all code of the worker uses",
        *place,
        "  leave the code of others as it is; it has been restored",
    ]
    return ModuleContractError("\n".join(lines))


def _describe_last_call(axis: Axis) -> str:
    """Describe the last call of a module: its label, and lines with the key and the window if they are known.

    If no module has run in this task, the text names the last module of earlier tasks, and is empty if there is none.
    """
    label = CURRENT_CALL.label
    if not label:
        previous = CURRENT_CALL.previous_label
        return f"{previous}, in an earlier task of this worker" if previous else ""
    key_and_window = CURRENT_CALL.located()
    if key_and_window is None:
        return label
    key, window = key_and_window
    interval = axis.spell_interval(window.start, window.end)
    return f"{label}\n  key: {safe_repr(key, 200)}\n  window: {interval}"
