"""The module that this process called last, and for which key and window.

Callers of modules set it before a call, as cheaply as possible. It is read if an error does not name the module itself.
Its trace, a file, is read if the process has died.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Final, Protocol, TypeAlias

from muntin import Window

Located: TypeAlias = tuple[object, Window]
"""The key and the window of a call."""


class Trace(Protocol):
    """Records which module runs, in a place that can be read when the process is gone."""

    def set_module(self, label: str) -> None:
        """Record that a module is called, for a window that is not known yet."""
        ...

    def set_window(self, key: object, window: Window) -> None:
        """Record the key and the window for which the module is called."""
        ...


class CurrentCall:
    """The call of a module that runs, or the last call if none runs.

    Cost: 30 nanoseconds for a call, if its caller compares `window`, `key` and `label` itself and calls `set_window`
    only when one of them has changed, as `ModuleComputation` does. With a trace, such a change takes a quarter of a
    microsecond more. Calls after `set_windows` cost nothing.

    Attributes:
        label: The name and version of the module; empty before the first call of a task.
        previous_label: The label of the last module in earlier tasks of the process.
        key: The key for which the module is called.
        window: The window; None while a module is called for many windows in turn, see `located`.
    """

    def __init__(self) -> None:
        """Begin without a call and without a trace."""
        self.label = ""
        self.previous_label = ""
        self.key: object = None
        self.window: Window | None = None
        self._located_at: Callable[[int], Located] | None = None
        self._results: Sized = ()
        self._trace: Trace | None = None

    @property
    def is_traced(self) -> bool:
        """True if there is a trace, so that callers must report each window with `set_window`."""
        return self._trace is not None

    def located(self) -> Located | None:
        """Return the key and the window of the call; None if they are not known."""
        if self.window is not None:
            return self.key, self.window
        if self._located_at is not None:
            # The module is called for windows in turn: there is a result of each call before the one that runs.
            return self._located_at(len(self._results))
        return None

    def begin_task(self, trace: Trace | None) -> None:
        """Forget the calls of the last task, except for the label of its last module.

        Args:
            trace: The trace in which the calls of the next task are recorded; None to record none.
        """
        self.previous_label = self.label or self.previous_label  # a task that called no module has no label
        self.label = ""
        self.key = None
        self.window = None
        self._located_at = None
        self._results = ()
        self._trace = trace

    def set_window(self, label: str, key: object, window: Window) -> None:
        """Record that a module is called for a window of a key from now on.

        Args:
            label: The name and version of the module.
            key: The key.
            window: The window.
        """
        trace = self._trace
        if trace is not None:
            if label is not self.label:  # identity is enough, and cheaper: a module has one label object
                trace.set_module(label)
            trace.set_window(key, window)
        self.label = label
        self.key = key
        self.window = window

    def set_module(self, label: str) -> None:
        """Record that a module is called from now on, for windows that are not known."""
        self.label = label
        self.window = None
        self._located_at = None
        self._results = ()
        if self._trace is not None:
            self._trace.set_module(label)

    def set_windows(self, label: str, located_at: Callable[[int], Located], results: Sized) -> None:
        """Record that a module is called for windows in turn until the next `set_window` or `set_module`.

        Args:
            label: The name and version of the module.
            located_at: The function from the place of a call, from 0, to its key and its window.
            results: The list to which the caller adds each result. Its length is the place of the call that runs.
        """
        self.set_module(label)
        self._located_at = located_at
        self._results = results


CURRENT_CALL: Final = CurrentCall()
"""The call of this process, which runs one task at a time."""
