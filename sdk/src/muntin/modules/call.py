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
    """A column expression of Spark, described by one of its methods, as nothing here imports PySpark."""

    def isNotNull(self) -> Any:  # Spark's name
        """Return the condition that the expression is not null."""
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
        parameters: The parameters of its constructor.
        side: The number of the event stream that the columns belong to, where a query joins several; 0 for the first.
        streams: The columns of each input by its name, if the module reads several inputs.
    """

    cls: type[Module]
    inputs: tuple[Any, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    side: int = 0
    streams: Mapping[str, StreamColumns] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Return the module with its columns and parameters, for notebooks."""
        from muntin.modules.module_html import html_of  # only notebooks need it

        columns = [*self.inputs]
        for name, stream in self.streams.items():
            stream_columns = ", ".join(map(str, stream.columns))
            columns.append(f"{name} of {stream.stream}: {stream_columns}")
        return html_of(self.cls, columns, self.parameters)


Column: TypeAlias = str | ColumnExpression
"""A column's name, an expression in SQL, or a column expression of Spark."""


class TypedCall(Protocol[P]):
    """A function that names a module in a query: columns by place, and the parameters of its constructor by name."""

    # A type checker accepts up to eight columns. It reports a ninth, which a query would accept.
    def __call__(
        self,
        column1: Column | StreamColumns = ...,
        column2: Column | StreamColumns = ...,
        column3: Column | StreamColumns = ...,
        column4: Column | StreamColumns = ...,
        column5: Column | StreamColumns = ...,
        column6: Column | StreamColumns = ...,
        column7: Column | StreamColumns = ...,
        column8: Column | StreamColumns = ...,
        /,
        *others: P.args,
        **parameters: P.kwargs,
    ) -> ModuleCall:
        """Return the module with these columns and parameters, for `aggregate` or `apply`."""
        ...


def typed_call(cls: Callable[P, Module]) -> TypedCall[P]:
    """Return a function that names a module in a query, which editors complete and type checkers check.

    The function takes columns by place and the parameters of the module's constructor by name, and has the module's
    docstring. `average("km")` is the same as `module("stats.average", "km")`: a query with one of them can continue
    from a checkpoint of a query with the other. A plugin offers such a function beside each of its module classes.

    Args:
        cls: The module class. The parameters of the function have the types of those of its constructor. A type checker
            accepts at most eight columns; a module with more of them gets them as fields of one struct column.

    Returns:
        The function. It raises the same errors as `muntin_engine.module`: a `QueryError` for an argument that is not a
        column, a `ParameterError` for a parameter that the constructor does not take.

    Raises:
        ModuleDefinitionError: The argument is not a module class.

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
        """Name the module in a query; replaced by the docstring of the module."""
        return module_call(cls, columns, parameters)

    # `help` and editors show the function as if it were written out beside the class.
    call.__module__ = cls.__module__
    call.__name__ = call.__qualname__ = str(cls.name).rpartition(".")[2]
    call.__doc__ = cls.__doc__
    attributes: Any = call
    attributes.__signature__ = _signature_of_call(cls)
    attributes._repr_html_ = ModuleCall(cls)._repr_html_  # a notebook asks functions too
    return cast("TypedCall[P]", call)


def _signature_of_call(cls: type[Module]) -> inspect.Signature:
    """Return the signature that editors and `help` show: the columns, and the parameters by name."""
    # The columns take all places, so the parameters of the constructor can be given by name alone.
    parameters = [inspect.Parameter("columns", inspect.Parameter.VAR_POSITIONAL)]
    for parameter in signature_of(cls).parameters.values():
        # A signature has one `*`, which is for the columns; the constructor's own could never be given by name.
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
        else:
            parameters.append(parameter)
    return inspect.Signature(parameters, return_annotation=ModuleCall)


def module_call(cls: type[Module], columns: tuple[Any, ...], parameters: Mapping[str, Any]) -> ModuleCall:
    """Return a module class with columns and parameters, which are checked as far as they can be without a stream.

    Args:
        cls: The class, with a name and a version.
        columns: The columns; if the module reads several inputs, the result of `from_stream` for each, in order.
        parameters: The parameters of its constructor; if the module reads several inputs, also inputs by name.

    Raises:
        ModuleDefinitionError: The class is not a complete module.
        QueryError: An argument is not a column, or one of several inputs is missing.
        ParameterError: The constructor does not take the parameters.
    """
    cls.check_definition()
    if cls.input_fields():
        return _call_of_several_inputs(cls, columns, parameters)
    check_columns(columns, cls)
    check_parameters(cls, parameters)
    return ModuleCall(cls, columns, dict(parameters))


def _call_of_several_inputs(cls: type[Module], columns: tuple[Any, ...], parameters: Mapping[str, Any]) -> ModuleCall:
    """Return a module that reads several inputs, with the columns of each.

    Args:
        cls: The class of the module.
        columns: The inputs that are given by place, each the columns of a stream.
        parameters: The inputs that are given by name, and the parameters of the constructor.

    Raises:
        QueryError: An input is missing or given twice, or columns by place do not say to which stream they belong.
        ParameterError: The constructor does not take the parameters.
    """
    inputs = cls.input_fields()
    names = [module_input.name for module_input in inputs]
    # Inputs by place come first, in the order of the class's union; there may be fewer of them than inputs.
    arguments = {**dict(zip(names, columns, strict=False)), **parameters}
    missing: list[str] = []
    for module_input in inputs:
        # A record without fields takes no columns, so its input may be left out.
        takes_columns = not isinstance(module_input.type, Struct) or module_input.type.fields
        if takes_columns and module_input.name not in arguments:
            missing.append(module_input.name)

    # Columns by place do not say to which stream they belong, unless `from_stream` names it.
    name_their_streams = all(isinstance(column, StreamColumns) for column in columns)
    names_by_place = names[: len(columns)]
    given_twice = [name for name in names_by_place if name in parameters]
    fault = ""
    if not name_their_streams or len(columns) > len(names):
        fault = "columns by place do not say of which"
    elif given_twice:
        fault = f"{given_twice[0]} is given by place and by name"
    elif missing:
        fault = f"the query does not say what {missing[0]} is"
    if fault:
        examples = ", ".join(f"{name}='<column>'" for name in names)
        raise QueryError(
            f"{cls.name} reads {len(names)} inputs, {', '.join(names)}, and {fault}\n"
            f"  write module({cls.name!r}, {examples}), each a column of the stream of that name, or a tuple of columns"
        )
    streams = {name: _stream_columns(name, arguments.get(name, ())) for name in names}
    module_parameters = {name: value for name, value in arguments.items() if name not in streams}
    check_parameters(cls, module_parameters)
    return ModuleCall(cls, inputs=(), parameters=module_parameters, streams=streams)


def _stream_columns(name: str, value: Any) -> StreamColumns:
    """Return the columns of an input, by default columns of the stream that has the input's name.

    Args:
        name: The name of the input.
        value: A column, several of them, or the columns of a stream with its name.
    """
    if isinstance(value, StreamColumns):
        return value
    columns = tuple(value) if isinstance(value, list | tuple) else (value,)
    for column in columns:
        check_column(name, column)
    return StreamColumns(name, columns)


def check_columns(columns: tuple[object, ...], code: Callable[..., object], *, reads_by_place: bool = False) -> None:
    """Refuse arguments by place of a module or a function that are not columns.

    Args:
        columns: The arguments by place.
        code: The module's class, or a function.
        reads_by_place: True if the first parameters of the code are its columns, as those of a function are.

    Raises:
        QueryError: An argument is something else, such as a parameter.
    """
    for position, column in enumerate(columns):
        if isinstance(column, list | tuple):
            arguments = ", ".join(map(repr, column))
            raise QueryError(f"a module takes columns one by one, got {column!r}\n  write module(..., {arguments})")

        # A number by place is most likely meant for a parameter, the first one that is not taken by a column.
        if isinstance(column, bool | int | float):
            first_candidate = position if reads_by_place else 0
            candidates = list(signature_of(code).parameters)[first_candidate:]
            remedies = [f"{candidates[0]}={column!r}"] if candidates else []
            if position < _most_columns(code):
                remedies.append(f"'({column!r})' for a column that is the same in each row")
            to_do = f"write {', or '.join(remedies)}" if remedies else "leave it out: there are no parameters"
            raise QueryError(
                f"a module takes columns by place and parameters by name, got {column!r} by place\n  {to_do}"
            )
        check_column("column", column)


def _most_columns(code: Callable[..., object]) -> float:
    """Return the greatest number of columns that a module class or a function can read; `inf` for any number."""
    if isinstance(code, type) and issubclass(code, Module):
        payload = code.input_field().type
        return len(payload.fields) if isinstance(payload, Struct) else 1
    kinds = [parameter.kind for parameter in signature_of(code).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return inf
    return kinds.count(inspect.Parameter.POSITIONAL_ONLY) + kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)


def check_column(argument: str, column: object) -> None:
    """Refuse anything but a column: a column's name, an expression in SQL, or a column expression of Spark.

    Args:
        argument: The name of the argument that the column was given as, for example `"key"`.
        column: The value of that argument.

    Raises:
        QueryError: The value is something else, or the name of several columns.
    """
    if isinstance(column, str):
        if not column or column == "*" or column.endswith(".*"):
            raise QueryError(
                "{argument} {fault}\n  name each one: 'a', or 'a.b' for a part of a struct",
                argument=argument,
                value=column,
                fault="names several columns" if column else "names no column",
            )
    # A column of Spark, classic or of Spark Connect, is known by a method, as PySpark need not be installed here.
    elif not hasattr(type(column), "isNotNull"):
        advice = _constant_advice(column)
        if isinstance(column, list | tuple | set | dict):
            advice = "name columns one by one"
        raise QueryError(
            f"{argument}={column!r:.80} is not a column\n"
            f"  expected: a column's name, or an expression such as 'a * 2'; {advice}"
        )


def _constant_advice(value: object) -> str:
    """Return the advice on a value that is not a column: a number is perhaps a constant, and None is left out."""
    if isinstance(value, int | float | bool):
        return f"a constant is '({value!r})'"
    return "leave out what there is not"
