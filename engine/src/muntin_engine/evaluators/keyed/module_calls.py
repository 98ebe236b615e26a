"""Call the methods of a module: an exception inside one gets the module's name, its key and its window here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from muntin import Window
from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin_engine.evaluators.keyed.called_windows import CalledWindows
from muntin_engine.evaluators.keyed.window_extent import Extent
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.time.changes import Key

T = TypeVar("T")
U = TypeVar("U")


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
        """Call a method of the module, and return its result.

        Args:
            name: The name of the method, for errors.
            key: The key that the call is for.
            window: The window that the call is for; a time-sensitive module gets its extent as the last argument.
            method: The method, or one of the handlers of a module that handles rows.
            arguments: The other arguments of the call.

        Raises:
            ModuleFailedError: The method raised an exception.
        """
        if self._extent is not None:
            window = self._extent(window)
        # Many calls in turn are for one window: it is recorded once.
        if CURRENT_CALL.window is not window or CURRENT_CALL.key is not key or CURRENT_CALL.label is not self._label:
            CURRENT_CALL.set_window(self._label, key, window)
        # The lines of `Meter.sampled`, which would be one more call for every call of a module.
        meter = self._meter
        if meter.skips:
            meter.skips -= 1
        else:
            method = meter.timed(method)
        try:
            return method(*arguments, window) if self._is_time_sensitive else method(*arguments)
        except BaseException as error:  # an exit, too, is the module's failure
            raise self._failure(name, key, window, error) from safe_cause(error)

    def call_for_each(
        self, name: str, windows: CalledWindows, method: Callable[[U], T], arguments: Iterable[U]
    ) -> list[T]:
        """Call a method of the module, which is not time-sensitive, for many windows in turn; return its results.

        Args:
            name: The name of the method, for errors.
            windows: The windows.
            method: The method.
            arguments: The argument for each window.

        Cost: nothing besides the calls. All calls are timed as one. The number of results so far says for which window
        the present call is.

        Raises:
            ModuleFailedError: The method raised an exception.
        """

        def located(place: int) -> tuple[Key, Window]:
            """Return the key of a window, and its extent, by its place."""
            key, window = windows.located(place)
            return key, window if self._extent is None else self._extent(window)

        if CURRENT_CALL.is_traced:  # the window of each call must be on record in case the process dies in it
            arguments = self._recorded(arguments, windows)
        results: list[T] = []
        CURRENT_CALL.set_windows(self._label, located, results)
        started = self._meter.now()
        try:
            for argument in arguments:
                results.append(method(argument))
        except BaseException as error:  # an exit, too, is the module's failure
            key, window = located(len(results))
            CURRENT_CALL.set_window(self._label, key, window)
            raise self._failure(name, key, window, error) from safe_cause(error)
        self._meter.since(started)
        # No call runs any more: `located` must not be asked for a window after the last one.
        CURRENT_CALL.set_module(self._label)
        if results:
            CURRENT_CALL.set_window(self._label, *located(len(results) - 1))
        return results

    def _recorded(self, arguments: Iterable[U], windows: CalledWindows) -> Iterator[U]:
        """Yield arguments, and record the window of each before its call."""
        for argument, (key, window) in zip(arguments, windows, strict=True):
            extent = window if self._extent is None else self._extent(window)
            CURRENT_CALL.set_window(self._label, key, extent)
            yield argument

    def _failure(self, name: str, key: object, window: Window, error: BaseException) -> ModuleFailedError:
        """Return the error that names a method that raised an exception, with its key and window."""
        module = self._module
        return ModuleFailedError(module.name, module.version, key, window, name, error)
