"""The module call that runs in this process: for a watchdog, and for error messages after the process has died.

Callers of modules record each call here, as cheaply as possible, when the module or the window changes. A process has
one `RUNNING`, as it runs one task at a time. In a Spark worker it writes a trace, which outlives the process; elsewhere
it writes none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from muntin import Window
from muntin_engine.core.meter import Meter


class Call(NamedTuple):
    """A call of a module's method.

    Attributes:
        label: The module, by name and version.
        method: The method.
        key: Whose window it is; None where that is not known.
        window: The window, or the slice; None where that is not known.
        place: How far a loop of calls is; 0 for a single one.
        meter: The meter of the module; None if it has none.
    """

    label: str
    method: str
    key: object = None
    window: Window | None = None
    place: int = 0
    meter: Meter | None = None


class Trace(Protocol):
    """Takes note of what runs, where it can be read when the process is gone."""

    def module(self, label: str) -> None:
        """Take note of a module, whose window is not known yet."""
        ...

    def place(self, key: object, window: Window) -> None:
        """Take note of a key and a window."""
        ...


class Running:
    """The running module call.

    Cost: 30 nanoseconds for a call where `window` and `label` are compared in place, as `Computation` does; where they
    have changed and there is a trace, a quarter of a microsecond more.

    Attributes:
        label: The module that was called last, by name and version.
        key: The key of the window.
        window: The window.
        locate: Returns the key and the window of one of many calls, by its place.
    """

    def __init__(self) -> None:
        self.label = ""
        self.window: Window | None = None
        self.locate: Callable[[int], tuple[object, Window]] | None = None
        self.key: object = None
        self._trace: Trace | None = None

    def begin(self, trace: Trace | None) -> None:
        """Start afresh, with a trace or none."""
        self.label, self.key, self.window, self.locate = "", None, None, None
        self._trace = trace

    def one(self, label: str, key: object, window: Window) -> None:
        """Say that a module is called for a window."""
        self.key, self.window, self.locate = key, window, None
        trace = self._trace
        if trace is None:
            self.label = label
            return
        if label is not self.label:
            self.label = label
            trace.module(label)
        trace.place(key, window)

    def many(self, label: str, locate: Callable[[int], tuple[object, Window]] | None = None) -> None:
        """Say that a module is called for many windows in turn."""
        self.window, self.locate = None, locate
        self.label = label
        if self._trace is not None:
            self._trace.module(label)


RUNNING: Final = Running()

Locals: TypeAlias = Mapping[str, Any]
"""The local variables of a function that is running, by name."""

CALLS: Final[dict[CodeType, Callable[[Locals], Call]]] = {}
"""By the code of each function that calls modules, what says of its local variables which call it is at."""


def at(function: Callable[..., object], describe: Callable[[Locals], Call]) -> None:
    """Have a watchdog know a function that calls modules."""
    CALLS[function.__code__] = describe
