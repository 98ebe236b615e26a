"""A module or function as a notebook shows it: its types and parameters as a table, and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from muntin.definitions.methods import signature_of
from muntin.errors import ModuleDefinitionError
from muntin.errors.safe_text import safe_repr
from muntin.notebook import facts_html, folded_html, text_html
from muntin.schemas import Field, spell


def html_of(cls: Any, columns: Iterable[Any] = (), parameters: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return a module as HTML.

    Args:
        cls: The module class.
        columns: The columns that a query gives it.
        parameters: The parameters that a query gives it.
    """
    facts: list[tuple[str, str]] = []
    column_names = [str(column) for column in columns]
    if column_names:
        facts.append(("columns", ", ".join(column_names)))
    facts += _parameter_facts(cls, parameters)
    facts += _type_facts(cls)
    name = getattr(cls, "name", cls.__name__)
    version = getattr(cls, "version", "")
    return _page(f"{name} {version}".rstrip(), cls.__doc__, facts)


def html_of_function(name: str, code: Callable[..., Any], result: Field) -> str:
    """Return a function as HTML.

    Args:
        name: The name and version of the function.
        code: The function itself.
        result: The type of the function's value.
    """
    parameter_facts = _parameter_facts(code, values={})  # a query gives a function columns, and no parameters
    return _page(name, code.__doc__, [*parameter_facts, ("returns", spell(result))])


def _page(heading: str, docstring: str | None, facts: Iterable[tuple[str, str]]) -> str:
    """Return the HTML of a module or function: the first sentence of its docstring, facts, and the rest folded."""
    summary, _, description = inspect.cleandoc(docstring or "").partition("\n\n")
    more = folded_html("More", text_html(description)) if description else ""
    return f"<div><p><b>{escape(heading)}</b><br>{escape(summary)}</p>{facts_html(facts)}{more}</div>"


def _parameter_facts(code: Callable[..., Any], values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a fact with a line for each parameter of a class or function; empty if it has no parameters.

    Args:
        code: The class or function.
        values: The values that a query gives to parameters, by name.
    """
    lines: list[str] = []
    for parameter in signature_of(code).parameters.values():
        if parameter.name in values:
            lines.append(f"{parameter.name} = {safe_repr(values[parameter.name])}")
        else:
            lines.append(str(parameter))
    return [("parameters", "\n".join(lines))] if lines else []


def _type_facts(cls: Any) -> list[tuple[str, str]]:
    """Return facts with the types that a module reads and returns; empty if a query would refuse these types."""
    try:
        return [("reads", spell(cls.input_field())), ("returns", spell(cls.result_field()))]
    except ModuleDefinitionError:
        return []
