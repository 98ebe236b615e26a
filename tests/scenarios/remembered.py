"""Modules as the oracle calls them, with a cache: the same members of a window are computed once.

The oracle looks at the whole history after every batch, and most windows are what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from muntin import Module, Window

_MOST_RESULTS: Final = 4096


class Remembered:
    """A module with a cache of its results by members and window; in everything else it is the module."""

    is_incremental = False

    def __init__(self, module: Any) -> None:
        """Wrap a module whose equal calls give equal results."""
        self._module = module
        self._results: dict[tuple[str, tuple[Window, ...]], Any] = {}

    @property  # type: ignore[misc]  # the kit asks whether it is a module
    def __class__(self) -> Any:
        return type(self._module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def compute_result(self, members: Sequence[Any], *window: Window) -> Any:
        """Return the module's result, rows of an operator as a list; a window is given if the module sees windows."""
        arguments = (repr(members), window)  # by their text, in which 0, 0.0 and -0.0 differ
        if arguments not in self._results:
            if len(self._results) == _MOST_RESULTS:
                self._results.clear()
            self._results[arguments] = self._compute(members, *window)
        return self._results[arguments]

    def _compute(self, members: Sequence[Any], *window: Window) -> Any:
        state: Any = members
        if self._module.is_incremental:
            state = self._module.add_events(self._module.create_state(*window), members, *window)
        result = self._module.compute_result(state, *window)
        return list(result) if self._module.is_operator else result


@cache
def remembered(module: Module) -> Any:
    """Return a module with a cache of its results."""
    return Remembered(module)
