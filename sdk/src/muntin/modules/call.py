"""A module with the columns and the parameters that a query gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, TypeAlias, cast

from typing_extensions import ParamSpec

from muntin.definitions.methods import signature_of
from muntin.errors import ModuleDefinitionError, QueryError
from muntin.errors.safe_text import safe_repr
from muntin.modules.module import Module
from muntin.modules.parameters import check_parameters
from muntin.schemas import Struct

P = ParamSpec("P")


class ColumnExpression(Protocol):
    """An expression of Spark's, by one of its methods, as nothing here imports PySpark."""

    def isNotNull(self) -> Any:  # Spark's name
        """Return the condition that it is not null."""
        ...


@dataclass(frozen=True)
class StreamColumns:
    """The columns of one stream of a union, for an input of a module that reads several; made by `from_stream`.

    Attributes:
        stream: The name of the stream in the union.
        columns: The columns, in the order of the fields of the input's record.
    """

    stream: str
    columns: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ModuleCall:
    """A module named in a query, with its inputs and parameters; made by `module`, and by what `typed_call` returns.

    Attributes:
        cls: The module's class.
        inputs: The columns that it reads.
        parameters: Those of its constructor.
        side: The place of the event stream that the columns are of, where there are several.
        streams: Where the module reads several inputs, the columns of each, by its name.
    """

    cls: type[Module]
    inputs: tuple[Any, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    side: int = 0
    streams: Mapping[str, StreamColumns] = field(default_factory=dict)


Given: TypeAlias = str | ColumnExpression | StreamColumns
"""A column's name, an expression, or the columns of a stream of a union."""


class TypedCall(Protocol[P]):
    """A function that names a module in a query: columns by place, and the parameters of its constructor by name."""

    def __call__(  # as many columns as a type checker lets through
        self,
        column1: Given = ...,
        column2: Given = ...,
        column3: Given = ...,
        column4: Given = ...,
        column5: Given = ...,
        column6: Given = ...,
        column7: Given = ...,
        column8: Given = ...,
        /,
        *others: P.args,
        **parameters: P.kwargs,
    ) -> ModuleCall:
        """Return the module with these columns and parameters, for `aggregate` or `apply`."""
        ...


def typed_call(cls: Callable[P, Module]) -> TypedCall[P]:
    """Return a function that names a module in a query, which editors complete and type checkers check.

    It takes columns by place and the parameters of the module's constructor by name, and has the module's docstring.
    `average("km")` is the same as `module("stats.average", "km")`: a checkpoint of a query with one of them goes on
    with the other. A plugin offers one beside each of its module classes.

    Args:
        cls: The module class. Types are those of its constructor, so there is nothing else to say. A type checker lets
            at most eight columns through; more are fields of one struct column.

    Returns:
        A function that raises what `muntin_engine.module` does: `QueryError` on what is no column, `ParameterError` on
        a parameter that the constructor does not take.

    Raises:
        ModuleDefinitionError: It is not a module class.

    Example:
        >>> from muntin import Aggregate
        >>> class Above(Aggregate[float, int]):
        ...     name, version = "demo.above", "1.0.0"
        ...     def __init__(self, level: float = 0.0) -> None:
        ...         self.level = level
        ...     def compute_result(self, payloads):
        ...         return sum(payload > self.level for payload in payloads)
        >>> above = typed_call(Above)
        >>> call = above("metres", level=2.5)
        >>> call.cls.name, call.inputs, call.parameters
        ('demo.above', ('metres',), {'level': 2.5})
    """
    if not isinstance(cls, type) or not issubclass(cls, Module):
        raise ModuleDefinitionError(f"typed_call() takes a module class, got {safe_repr(cls)}")

    def call(*columns: Any, **parameters: Any) -> ModuleCall:
        return module_call(cls, columns, parameters)

    call.__module__ = cls.__module__
    call.__name__ = call.__qualname__ = str(cls.name).rpartition(".")[2]
    call.__doc__ = cls.__doc__
    call.__signature__ = _signature_of_call(cls)  # type: ignore[attr-defined]  # functions take attributes
    return cast("TypedCall[P]", call)


def _signature_of_call(cls: type[Module]) -> inspect.Signature:
    """Return the signature that editors and `help` show: the columns, and the parameters by name."""
    by_name = [
        part.replace(kind=part.KEYWORD_ONLY) if part.kind is part.POSITIONAL_OR_KEYWORD else part
        for part in signature_of(cls).parameters.values()
        if part.kind is not part.VAR_POSITIONAL
    ]
    columns = inspect.Parameter("columns", inspect.Parameter.VAR_POSITIONAL)
    return inspect.Signature([columns, *by_name], return_annotation=ModuleCall)


def module_call(cls: type[Module], columns: tuple[Any, ...], parameters: Mapping[str, Any]) -> ModuleCall:
    """Return a module class with columns and parameters, which are checked as far as they can be without a stream.

    Args:
        cls: The class, with a name and a version.
        columns: The columns; where the module reads several inputs, what `from_stream` makes for each, in their order.
        parameters: Those of its constructor; where the module reads several inputs, each of these may be there too.

    Raises:
        ModuleDefinitionError: The class is not a complete module.
        QueryError: Something is not a column, or one of several inputs is missing.
        ParameterError: The constructor does not take the parameters.
    """
    cls.check_definition()
    names = [part.name for part in cls.input_fields()]
    if not names:
        check_columns(columns, cls)
        check_parameters(cls, parameters)
        return ModuleCall(cls, columns, dict(parameters))
    given = dict(zip(names, columns, strict=False)) | {**parameters}
    without = {part.name for part in cls.input_fields() if isinstance(part.type, Struct) and not part.type.fields}
    missing = [name for name in names if name not in given and name not in without]
    are_told = len(columns) <= len(names) and all(isinstance(column, StreamColumns) for column in columns)
    if missing or not are_told:
        told = f"the query does not say what {missing[0]} is" if are_told else "columns by place do not say of which"
        written = ", ".join(f"{name}='<column>'" for name in names)
        raise QueryError(
            f"{cls.name} reads {len(names)} inputs, {', '.join(names)}, and {told}\n"
            f"  write module({cls.name!r}, {written}), each a column of the stream of that name, or a tuple of columns"
        )
    streams = {name: _stream_columns(name, given.pop(name, ())) for name in names}
    check_parameters(cls, given)
    return ModuleCall(cls, (), given, streams=streams)


def _stream_columns(name: str, given: Any) -> StreamColumns:
    """Return the columns of an input, which reads the stream of its name unless another one is given."""
    if isinstance(given, StreamColumns):
        return given
    columns = tuple(given) if isinstance(given, list | tuple) else (given,)
    for column in columns:
        check_column(name, column)
    return StreamColumns(name, columns)


def check_columns(columns: tuple[object, ...], code: Callable[..., object], *, reads_by_place: bool = False) -> None:
    """Refuse inputs of a module that are no columns.

    Args:
        columns: What is given by place.
        code: The module's class, or a function.
        reads_by_place: True if the first parameters of the code are the columns.

    Raises:
        QueryError: One is something else, such as a parameter.
    """
    for place, column in enumerate(columns):
        if isinstance(column, list | tuple):
            named = ", ".join(map(repr, column))
            raise QueryError(f"a module takes columns one by one, got {column!r}\n  write module(..., {named})")
        if isinstance(column, bool | int | float):
            parameters = list(signature_of(code).parameters)[place if reads_by_place else 0 :]
            remedies = [f"{parameters[0]}={column!r}"] if parameters else []
            if place < _most_columns(code):
                remedies.append(f"F.lit({column!r}) for a column that is the same in each row")
            to_do = f"write {', or '.join(remedies)}" if remedies else "leave it out: there are no parameters"
            raise QueryError(
                f"a module takes columns by place and parameters by name, got {column!r} by place\n  {to_do}"
            )
        check_column("column", column)


def _most_columns(code: Callable[..., object]) -> float:
    """Return how many columns a module class or a function reads at most."""
    if isinstance(code, type) and issubclass(code, Module):
        wanted = code.input_field().type
        return len(wanted.fields) if isinstance(wanted, Struct) else 1
    parts = signature_of(code).parameters.values()
    if any(part.kind is part.VAR_POSITIONAL for part in parts):
        return inf
    return sum(part.kind in (part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD) for part in parts)


def check_column(argument: str, column: object) -> None:
    """Refuse what cannot name one column: anything but a name or an expression of Spark's.

    Args:
        argument: Where it is given, for example `"key"`.
        column: What is given.

    Raises:
        QueryError: It is something else, or the name of several columns.
    """
    if isinstance(column, str):
        if not column or column == "*" or column.endswith(".*"):
            what = "names several columns" if column else "names no column"
            raise QueryError(
                "{argument} {what}\n  name each one: 'a', or 'a.b' for a part of a struct",
                argument=argument,
                value=column,
                what=what,
            )
    elif not hasattr(type(column), "isNotNull"):
        advice = "name columns one by one" if isinstance(column, list | tuple | set | dict) else _constant(column)
        raise QueryError(
            f"{argument}={column!r:.80} is not a column\n"
            f"  expected: a column's name, or an expression such as F.col('a') * 2; {advice}"
        )


def _constant(value: object) -> str:
    return f"a constant is F.lit({value!r})" if isinstance(value, int | float | bool) else "leave out what there is not"
