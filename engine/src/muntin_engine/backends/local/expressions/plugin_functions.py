"""Calls of functions of plugins, and of registered ones, by the names that they have in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from muntin.catalog import installed
from muntin.errors import QueryError, UnknownModuleError
from muntin_engine.backends.local.duckdb_types import spelled
from muntin_engine.backends.local.expressions.called_function import called_function
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translator import Translator, function_rule_of, rule
from muntin_engine.needed import required_module

if TYPE_CHECKING:
    from muntin import Function

_REGISTERED: Final[dict[str, Function[..., Any]]] = {}
"""The functions that no plugin offers, by their names in SQL."""

_ON_COLUMNS: Final = "call it in Python for a column before events(), or run the query on Spark"


def register_function(function: Function[..., Any]) -> None:
    """Let expressions call a function by its name in SQL; it replaces a registered function of the same name.

    Raises:
        QueryError: SQL has a function of that name.
    """
    is_of_sql = function.sql_name.upper() in exp.FUNCTION_BY_NAME
    if is_of_sql or function_rule_of(function.sql_name) is not None:
        raise QueryError(
            f"{function.name} is called {function.sql_name} in SQL, which has a function of that name\n"
            "  expected: another name, such as my.distance"
        )
    _REGISTERED[function.sql_name] = function


def function_called(sql_name: str) -> Function[..., Any] | None:
    """Return the function of a name in SQL: a registered one, or that of an installed plugin; None without one.

    Args:
        sql_name: The name, in any case.

    Raises:
        MuntinError: A plugin that may offer the function cannot be imported.
    """
    name = sql_name.casefold()
    if name in _REGISTERED:
        return _REGISTERED[name]
    for full_name in _full_names(name):
        try:
            return installed().function(full_name)
        except UnknownModuleError:
            continue
    return None


def _full_names(sql_name: str) -> Iterator[str]:
    """Yield the names that a plugin's function with a name in SQL may have: a dot stands for one of the underscores.

    Example:
        >>> list(_full_names("my_geo_distance"))
        ['my.geo_distance', 'my_geo.distance']
    """
    for place, letter in enumerate(sql_name):
        if letter == "_":
            yield f"{sql_name[:place]}.{sql_name[place + 1 :]}"


@rule(exp.Anonymous)
def _translate_call(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate a call of a function that sqlglot has no kind of node for: by a rule, or as a plugin's function."""
    name = node.name.casefold()
    function_rule = function_rule_of(name)
    if function_rule is not None:
        return function_rule(translator, node)
    function = function_called(name)
    if function is None:
        raise translator.unknown(node, name)
    return _translated_call(translator, node, function)


def _translated_call(translator: Translator, node: exp.Anonymous, function: Function[..., Any]) -> DuckdbExpression:
    """Translate a call of a function of a plugin.

    Spark calls such functions for all rows, before it computes the expressions around them. Here CASE, AND and COALESCE
    do not call them where their values are not needed. As equal arguments give equal values, this makes a difference
    only where a function would raise an exception.

    Raises:
        QueryError: The function cannot be called with values of the types of the arguments.
    """
    arguments = [translator.translate(argument) for argument in node.expressions]
    called = called_function(function, tuple(argument.type for argument in arguments))
    for argument in arguments:
        if _has_struct(argument.type):
            raise translator.refusal(
                node,
                f"calls {function.name} with {spelled(argument.type)}, which it would get as a Row of Spark's",
                "give it the fields of the struct one by one, or run the query on Spark",
            )
    if function.is_vectorized:
        required_module("pandas", feature=f"{function.name}, a vectorised function,", extra="spark")
        for data_type in (*(argument.type for argument in arguments), called.type):
            if pa.types.is_nested(data_type):
                raise translator.refusal(
                    node,
                    f"has values of {spelled(data_type)} in a Series, which are not known to be the same without Spark",
                    _ON_COLUMNS,
                )
    return called.call(arguments)


def _has_struct(data_type: pa.DataType) -> bool:
    """True if a type is a struct, or a list or map with a struct in it."""
    if pa.types.is_struct(data_type):
        return True
    if pa.types.is_list(data_type):
        return _has_struct(data_type.value_type)
    if pa.types.is_map(data_type):
        return _has_struct(data_type.key_type) or _has_struct(data_type.item_type)
    return False
