"""Refuse results that are not of the type that their module declares, as a query does."""

from __future__ import annotations

from typing import Any

from muntin.errors import ModuleContractError, ModuleDefinitionError
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.row_operator import RowOperator
from muntin.query_checks import undeclared_result
from muntin.safe_text import safe_repr
from muntin.schemas import Field, Struct, spell
from muntin.testing.fitting import misfit
from muntin.windows.extent import Window


def check_declared(module: Module, value: object, window: Window) -> None:
    """Refuse a result, or a row of an operator, that is not of the type that its module declares."""
    bare = value.payload if module.is_operator and isinstance(value, Event) else value
    _check(module, _result_field(module), bare, window)


def check_evicted(module: RowOperator[Any, Any, Any, Any], value: object, window: Window) -> None:
    """Refuse a row of the second output that is not of the type that its module declares."""
    declared = module.evicted_field()
    if declared is None:
        raise _error(module, f"on_evict returned {safe_repr(value)}, declared None", window)
    _check(module, declared, value, window)


def _check(module: Module, declared: Field | None, value: object, window: Window) -> None:
    if declared is None:
        return
    is_no_row = value is None and module.is_operator and isinstance(declared.type, Struct)
    found = f"it is None, expected {spell(declared)}" if is_no_row else misfit(declared, value, is_result=True)
    if found:
        raise _error(module, found, window)


def _error(module: Module, found: str, window: Window) -> ModuleContractError:
    where = f"  window: [{window.start}, {window.end})\n"
    return undeclared_result(f"{module.name} {module.version}", found, where)


def _result_field(module: Module) -> Field | None:
    """Return the declared type of a module's results; None if it declares none, which a query refuses."""
    try:
        return module.result_field()
    except ModuleDefinitionError:
        return None
