"""A module as a notebook shows it: its types and parameters as a table, and its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from muntin.definitions.methods import signature_of
from muntin.errors import ModuleDefinitionError
from muntin.errors.safe_text import safe_repr
from muntin.notebook import facts_html, folded_html, text_html
from muntin.schemas import spell


def html_of(cls: Any, columns: Iterable[Any] = (), parameters: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return a module as HTML.

    Args:
        cls: The module class.
        columns: The columns that a query gives it.
        parameters: The parameters that a query gives it.
    """
    docstring = inspect.cleandoc(cls.__doc__ or "")
    summary, _, description = docstring.partition("\n\n")
    facts: list[tuple[str, str]] = []
    column_names = [str(column) for column in columns]
    if column_names:
        facts.append(("columns", ", ".join(column_names)))
    facts += _parameter_facts(cls, parameters)
    facts += _type_facts(cls)
    name = getattr(cls, "name", cls.__name__)
    version = getattr(cls, "version", "")
    heading = f"<p><b>{escape(f'{name} {version}'.rstrip())}</b><br>{escape(summary)}</p>"
    more = folded_html("More", text_html(description)) if description else ""
    return f"<div>{heading}{facts_html(facts)}{more}</div>"


def _parameter_facts(cls: Any, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the parameters of a module in a fact, a line for each; none if it has none."""
    lines: list[str] = []
    for parameter in signature_of(cls).parameters.values():
        if parameter.name in values:
            lines.append(f"{parameter.name} = {safe_repr(values[parameter.name])}")
        else:
            lines.append(str(parameter))
    return [("parameters", "\n".join(lines))] if lines else []


def _type_facts(cls: Any) -> list[tuple[str, str]]:
    """Return the types that a module declares; none if they are no types of payloads, which a query would refuse."""
    try:
        return [("reads", spell(cls.input_field())), ("returns", spell(cls.result_field()))]
    except ModuleDefinitionError:
        return []
