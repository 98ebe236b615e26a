"""A module whose exceptions are results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from muntin.errors import ModuleContractError
from muntin.errors.safe_text import safe_message
from muntin.events import Event
from muntin.frozen import subscriptable
from muntin.modules.aggregate import rows_of
from muntin.modules.module import Module
from muntin.policies import OutputContract
from muntin.windows.extent import Window
from muntin_adapters.combinators.annotations import with_null
from muntin_adapters.combinators.wrapping import Wrapping, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe

Result = TypeVar("Result")

_TUPLE: Final[Any] = tuple
"""`tuple`, as `Any`: mypy refuses brackets with types that are known at run time alone."""


@subscriptable
@dataclass(frozen=True, slots=True)
class Caught(Generic[Result]):
    """A module's result, or its error.

    Attributes:
        result: Result, or a row of an operator; null if there is an error.
        error: Method that raised an exception, with the exception's type and at most 500 characters of its message;
            null if none did.
    """

    result: Result | None
    error: str | None


def catching(module: str | type[Module]) -> type[Any]:
    """Return a module whose result is an error where another module raises an exception, so that the query goes on.

    A result is a record: its `result` is the module's, and `error` is null. Where a method raised an exception,
    `result` is null, and `error` says so. An operator's rows are such records; where it fails, a window has one row.

    The window fails, not one row of it: its state takes further rows and stays failed. Of several errors the least, as
    text, is kept, so that neither the order of rows nor their split into calls matters: if a call fails, each of its
    rows is tried on a state of its own. A failure of `combine` is reported as one of `add_events`, because the engine
    chooses which of the two merges rows. A module that reads the order has its first error. A window that the bad row
    is not in, or no longer is in, is computed as ever. If a window has no rows but those that the module skips, the
    whole record is null. The row of a failed operator has the window's lifetime; for it `catching` lowers the contract
    `time_bound` to `window_based`.

    Any `Exception` is caught, also one that a second attempt would not meet, such as of a network. Some failures still
    stop the query: a `MemoryError`, which depends on the machine and not on the rows; one of `upgrade_state`, which
    would cost every window; and a mistake in code, such as a result of another type than declared. If
    only `combine` fails for rows that `add_events` takes, the module breaks the law *combining equals adding*, and
    whether a window has an error depends on the evaluator.

    Cost: a tuple around each state, and a call around each method. The module loses `remove_events` and `deduct`, as
    removing a row cannot undo its failure, and its columnar form, in which one failure would be that of all windows.

    Args:
        module: Name or class of a module. Its parameters stay, and so do its other capabilities.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: The module follows rows or a stream: an error would be that of a key for good.

    Example:
        >>> from muntin import Aggregate
        >>> class Pace(Aggregate[float, float]):
        ...     name, version = "demo.pace", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return 60 / sum(payloads)
        >>> pace = catching(Pace)()
        >>> pace.compute_result([20.0])
        Caught(result=3.0, error=None)
        >>> pace.compute_result([0.0])
        Caught(result=None, error='compute_result: ZeroDivisionError: float division by zero')
    """
    return _catching(module_class(module))


class _Catching(Wrapping):
    """Keeps pairs: a state of the wrapped module and no error, or no state and an error."""

    def _create_state(self, *window: Window) -> object:
        return _attempt("create_state", self._module.create_state, *window)

    def _add_events(self, state: Any, members: Sequence[object], *window: Window) -> object:
        """Return the state with members added, or the error of the window.

        The error must not depend on how rows come together: where the module reads the order it is the first one, and
        elsewhere the least of those of single rows.
        """
        _, earlier_error = state
        if earlier_error is None:
            new_state = self._add(state, members, window)
            _, error = new_state
            if error is None or self._module.reads_order:
                return new_state
        elif self._module.reads_order:
            return state  # the first error counts
        else:
            # Of all errors of a window the least is kept, so new members are tried too: on a new state, as a failed
            # window has none.
            _, error = self._add(self._create_state(*window), members, window)
            if error is None:
                return state

        # The engine chooses which rows come in one call. Each row is tried alone, so that the choice does not matter.
        # Where no row fails alone, only the error of the call is known.
        errors = self._errors_of_each(members, window) or {error}
        if earlier_error is not None:
            errors.add(earlier_error)
        return None, min(errors)

    def _errors_of_each(self, members: Sequence[object], window: tuple[Window, ...]) -> set[str]:
        """Return the errors of rows that fail alone, each tried on a new state."""
        errors: set[str] = set()
        for member in members:
            _, error = self._add(self._create_state(*window), [member], window)
            if error is not None:
                errors.add(error)
        return errors

    def _add(self, state: Any, members: Sequence[object], window: tuple[Window, ...]) -> Any:
        """Return a pair: the inner state with members added, and no error; or no state, and the error.

        A state that has an error is returned as it is.
        """
        inner_state, error = state
        if error is not None:
            return state
        return _attempt("add_events", self._module.add_events, inner_state, members, *window)

    def _combine(self, state: Any, other: Any) -> object:
        """Return a pair: both inner states combined, and no error; or no state, and the least of the errors."""
        inner_state, error = state
        other_inner_state, other_error = other
        # The least of the errors, as states are combined in any order.
        errors = [text for text in (error, other_error) if text is not None]
        if errors:
            return None, min(errors)
        # The engine chooses between combining and adding, so an error has to be the same text for both.
        return _attempt("add_events", self._module.combine, inner_state, other_inner_state)

    def _upgrade_state(self, state: Any, version: str, *window: Window) -> object:
        """Let the wrapped module upgrade its state; a state with an error is returned as it is."""
        inner_state, error = state
        if error is not None:
            return state
        return self._module.upgrade_state(inner_state, self._inner_version(version), *window), None

    def _compute_result(self, state_or_members: Any, *window: Window) -> Any:
        """Return the result, or the error, in the record that holds either."""
        inner, error = state_or_members if self.is_incremental else (state_or_members, None)
        result: Any = None
        if error is None:
            result, error = _attempt("compute_result", self._inner_result, inner, *window)
        if error is not None:
            failure: Caught[object] = Caught(None, error)
            return [failure] if self.is_operator else failure
        if self.is_operator:
            return [_without_error(row) for row in result]
        return Caught(result, None)

    def _inner_result(self, *arguments: object) -> object:
        """Return the result of the wrapped module, or the rows of an operator as a list."""
        result = self._module.compute_result(*arguments)
        return rows_of(result) if self.is_operator else result  # a generator raises its errors here


def _attempt(method: str, call: Callable[..., object], *arguments: object) -> tuple[Any, str | None]:
    """Call a function, and return its value and no error; or no value and the text of the error if it raises one.

    Args:
        method: Name of the method, with which the text begins.
        call: Function to call.
        arguments: Arguments of the call.

    Raises:
        MemoryError: The call raised it: it depends on the machine and not on the rows.
        ModuleContractError: The call raised it: it is a mistake in code.
    """
    try:
        return call(*arguments), None
    except (MemoryError, ModuleContractError):
        raise
    except Exception as error:
        return None, f"{method}: {safe_message(error, longest=500)}"


def _without_error(row: object) -> object:
    """Return a row of an operator in the record that has no error; an event keeps its lifetime."""
    if isinstance(row, Event):
        return Event(row.start, row.end, Caught(row.payload, None))
    return Caught(row, None)


@records_recipe
def _catching(cls: type[Module]) -> type[Any]:
    """Make the class of a module that catches errors of another one."""
    payload, state, result = types_of(cls)
    caught: Any = Caught
    # A row may make its window fail, and the failure is reported from the window's start on: before the row itself.
    is_time_bound = cls.contract is OutputContract.TIME_BOUND
    return wrap(
        cls,
        _Catching,
        name_suffix="or_error",
        version_suffix="or its error",
        payload=payload,
        result=caught[result],
        attributes={"contract": OutputContract.WINDOW_BASED if is_time_bound else cls.contract},
        state=_TUPLE[with_null(state), str | None],
    )
