"""Foreign objects that are set up before their first use, and torn down after their last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import finalize


class Prepared:
    """Sets an object up when it is first used: on the worker, not where the query is built.

    It is torn down when the module is dropped or its process ends in good order; there is no guarantee for a process
    that is killed.

    Attributes:
        code: Object, ready to use.
    """

    def __init__(self, code: object, start: Callable[[], object], stop: Callable[[], object]) -> None:
        self._code = code
        self._start = start
        self._stop = stop
        self._is_ready = False

    @property
    def code(self) -> Any:
        """The object, set up."""
        if not self._is_ready:
            self._start()
            finalize(self, self._stop)
            self._is_ready = True
        return self._code


def nothing() -> None:
    """Do nothing, in the place of a set-up or tear-down that the object does not have."""
