"""Call the methods of a module: an exception inside one gets the module's name, its key and its window here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from muntin import Window
from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin_engine.evaluators.keyed.window_extent import Extent
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL

T = TypeVar("T")


class MethodCalls:
    """The calls of one module of a query. An exception inside it names module, version, key, window and method."""

    def __init__(self, binding: Binding, extent: Extent | None) -> None:
        """Prepare to call a module.

        Args:
            binding: The module.
            extent: The function from windows to their extents; None if each window is its own extent.
        """
        module = binding.module
        self._module = module
        self._label = f"{module.name} {module.version}"
        self._is_time_sensitive = module.is_time_sensitive
        self._meter = binding.meter
        self._extent = extent

    def call(self, name: str, key: object, window: Window, method: Callable[..., T], *arguments: object) -> T:
        """Return the result of a method of the module, which may be a handler of one that follows rows.

        Raises:
            ModuleFailedError: The method raised an exception.
        """
        if self._extent is not None:
            window = self._extent(window)
        if CURRENT_CALL.window is not window or CURRENT_CALL.key is not key or CURRENT_CALL.label is not self._label:
            CURRENT_CALL.set_window(self._label, key, window)
        # As `Meter.sampled`, in place: this runs for every call of a module.
        meter = self._meter
        if meter.skips:
            meter.skips -= 1
        else:
            method = meter.timed(method)
        try:
            return method(*arguments, window) if self._is_time_sensitive else method(*arguments)
        except BaseException as error:  # an exit, too, is the module's failure
            module = self._module
            failed = ModuleFailedError(module.name, module.version, key, window, name, error)
            raise failed from safe_cause(error)
