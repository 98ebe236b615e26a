"""The module that this process called last, and for which key and window.

Callers of modules set it before a call, as cheaply as possible. It is read where an error does not say by itself which
module it is about, and its trace where the process has died.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Final, Protocol, TypeAlias

from muntin import Window

Located: TypeAlias = tuple[object, Window]
"""The key and the window of a call."""


class Trace(Protocol):
    """Records what runs, where it can be read when the process is gone."""

    def set_module(self, label: str) -> None:
        """Record a module, whose window is not known yet."""
        ...

    def set_window(self, key: object, window: Window) -> None:
        """Record a key and a window."""
        ...


class CurrentCall:
    """The call of a module that runs, or the last one if none does.

    Cost: 30 nanoseconds for a call where `window`, `key` and `label` are compared in place, as `ModuleComputation`
    does; where one of them has changed and there is a trace, a quarter of a microsecond more. Nothing for each call
    after `set_windows`.

    Attributes:
        label: The module, by name and version; empty before the first call of a task.
        previous_label: The last module of earlier tasks of the process.
        key: The key whose window it is.
        window: The window; None while a module is called for many windows in turn, see `located`.
    """

    def __init__(self) -> None:
        self.label = ""
        self.previous_label = ""
        self.key: object = None
        self.window: Window | None = None
        self._located_at: Callable[[int], Located] | None = None
        self._results: Sized = ()
        self._trace: Trace | None = None

    @property
    def is_traced(self) -> bool:
        """True if each window is to be recorded, with `set_window`."""
        return self._trace is not None

    def located(self) -> Located | None:
        """Return the key and the window of the call; None if they are not known."""
        if self.window is not None:
            return self.key, self.window
        if self._located_at is not None:
            return self._located_at(len(self._results))
        return None

    def begin_task(self, trace: Trace | None) -> None:
        """Forget the calls of the task before, and record those of the next one in a trace if there is one."""
        self.previous_label = self.label or self.previous_label
        self.label = ""
        self.key = None
        self.window = None
        self._located_at = None
        self._results = ()
        self._trace = trace

    def set_window(self, label: str, key: object, window: Window) -> None:
        """Record that a module is called for a window from now on."""
        trace = self._trace
        if trace is not None:
            if label is not self.label:  # identity is enough, and cheaper: a module has one label object
                trace.set_module(label)
            trace.set_window(key, window)
        self.label = label
        self.key = key
        self.window = window

    def set_module(self, label: str) -> None:
        """Record that a module is called for many windows in turn from now on."""
        self.label = label
        self.window = None
        self._located_at = None
        self._results = ()
        if self._trace is not None:
            self._trace.set_module(label)

    def set_windows(self, label: str, located_at: Callable[[int], Located], results: Sized) -> None:
        """Record that a module is called for windows in turn until the next `set_window` or `set_module`.

        Args:
            label: The module.
            located_at: Returns the key and the window of a call, by its place.
            results: The results so far: their number is the place of the call that runs.
        """
        self.set_module(label)
        self._located_at = located_at
        self._results = results


CURRENT_CALL: Final = CurrentCall()
"""The call of this process, which runs one task at a time."""
