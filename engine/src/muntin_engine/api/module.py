"""Naming a module in a query."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from muntin import Module
from muntin.catalog import installed
from muntin.errors import ModuleDefinitionError, QueryError
from muntin.schemas import Struct
from muntin_engine.api.arguments import check_column, check_name, spelled
from muntin_engine.api.request import ModuleCall, StreamColumns
from muntin_engine.shipping.code_version import with_version

if TYPE_CHECKING:
    from muntin_engine.api.request import ColumnLike


def module(name: str | type[Module], *inputs: ColumnLike, **parameters: Any) -> ModuleCall:
    """Name a module for a query.

    Args:
        name: `"<plugin>.<module>"` of an installed plugin, or a module class. A class of the program's own may leave
            its version out: it is then a hash of its code, and with it what the query's checkpoint depends on.
        inputs: Columns or expressions the module reads, in the order of its input type's fields. None for a module
            that only counts its members.
        parameters: The module's initial parameters, by name. Where a module reads several inputs, each of these by name
            as well: a column, or several in a tuple, of the stream of that name in the `union`. A stream of another
            name is given by `from_stream`.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.
        ModuleDefinitionError: The class is not a complete module.
        QueryError: An input is no column, or one of several is missing.

    Example:
        >>> module("stats.quantile", "delay", q=0.9).parameters
        {'q': 0.9}
    """
    _check_module(name)
    cls = installed().module(name) if isinstance(name, str) else with_version(name)
    cls.check_definition()
    names = [part.name for part in cls.input_fields()]
    if not names:
        _check_inputs(cls, inputs)
        return ModuleCall(cls, inputs, parameters)
    without = {part.name for part in cls.input_fields() if isinstance(part.type, Struct) and not part.type.fields}
    missing = [name for name in names if name not in parameters and name not in without]
    if inputs or missing:
        told = "columns by place do not say of which" if inputs else f"the query does not say what {missing[0]} is"
        written = ", ".join(f"{name}='<column>'" for name in names)
        raise QueryError(
            f"{cls.name} reads {len(names)} inputs, {', '.join(names)}, and {told}\n"
            f"  write module({cls.name!r}, {written}), each a column of the stream of that name, or a tuple of columns"
        )
    streams = {name: _stream_columns(name, parameters.pop(name, ())) for name in names}
    return ModuleCall(cls, (), parameters, streams=streams)


def from_stream(stream: str, *columns: ColumnLike) -> StreamColumns:
    """Name a stream of a union as an input of a module that reads several.

    An input of a module reads the stream of its own name, unless the query says another one by this.

    Args:
        stream: The name of the stream, as `union` has it.
        columns: The columns that the module reads, in the order of the fields of the input's record.

    Raises:
        QueryError: The stream has no name, or a column is none.

    Example:
        >>> inside, outside = from_stream("inside", "celsius"), from_stream("outside", "celsius")
        >>> module("stats.average_difference", left=inside, right=outside).streams["left"]
        StreamColumns(stream='inside', columns=('celsius',))
    """
    check_name("from_stream(stream)", stream)
    for column in columns:
        check_column("column", column)
    return StreamColumns(stream, columns)


def _stream_columns(name: str, given: Any) -> StreamColumns:
    """Return the columns of an input, which reads the stream of its name unless another one is given."""
    if isinstance(given, StreamColumns):
        return given
    columns = tuple(given) if isinstance(given, list | tuple) else (given,)
    for column in columns:
        check_column(name, column)
    return StreamColumns(name, columns)


def _check_module(module: object) -> None:
    """Refuse what is neither a module's name nor its class.

    Raises:
        ModuleDefinitionError: It is something else.
    """
    if isinstance(module, str) or (isinstance(module, type) and issubclass(module, Module)):
        return
    if isinstance(module, Module):
        name = type(module).__name__
        raise ModuleDefinitionError(
            f"module() takes a class, got an instance of {name}\n"
            f"  its parameters go by name after the columns: module({name}, 'column', parameter=value)"
        )
    raise ModuleDefinitionError(
        f"{spelled(module)} is not a module class\n"
        "  expected: the name of an installed module, such as 'stats.average', or a subclass of one of Muntin's eight\n"
        "  base classes, such as Aggregate"
    )


def _check_inputs(cls: type[Module], inputs: tuple[object, ...]) -> None:
    """Refuse inputs of a module that are no columns.

    Raises:
        QueryError: One is something else, such as a parameter.
    """
    for column in inputs:
        if isinstance(column, list | tuple):
            named = ", ".join(map(repr, column))
            raise QueryError(f"module() takes columns one by one, got {column!r}\n  write module(..., {named})")
        if isinstance(column, bool | int | float):
            names = list(inspect.signature(cls).parameters) or ["parameter"]
            raise QueryError(
                f"module() takes columns by place and parameters by name, got {column!r} by place\n"
                f"  write {names[0]}={column!r}, or F.lit({column!r}) for a column that is the same in each row"
            )
        check_column("column", column)
