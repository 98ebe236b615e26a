"""Name a module in a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from muntin import Module
from muntin.catalog import installed
from muntin.errors import ModuleDefinitionError
from muntin.modules.call import ModuleCall, StreamColumns, check_column, check_columns, module_call
from muntin.modules.function_aggregate import function_aggregate
from muntin_engine.api.arguments import check_name, spelled
from muntin_engine.packages.code_version import identity_of_function, with_version

_AGGREGATES_SERIES: Final = 202
"""`SQL_GROUPED_AGG_PANDAS_UDF` of `pyspark.util.PythonEvalType`, which is part of Spark's protocol."""

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


def module(
    name: str | type[Module] | Callable[..., object], /, *inputs: ColumnLike | StreamColumns, **parameters: Any
) -> ModuleCall:
    """Name a module for a query, or make a module of a function of the values in a window.

    A function is called once per window, with the values of each of its columns, as NumPy arrays of the types that
    `ColumnarAggregate` lists; or as lists or pandas Series if its annotations say so, as in `km: list[float]` or
    `km: pd.Series`. The values are in no particular order: if order matters, add the time as a column, and sort by it.
    A row with a null in one of the columns is skipped, unless the annotation is `list[float | None]`; the result is
    null if all rows are skipped. NaN is a value like any other. A function that Spark's `pandas_udf` decorates may be
    passed unchanged if it aggregates. For times as ticks or a state, write a module class.

    The function returns a value of the type that it declares, or None for null; NumPy's values are converted. Another
    type stops the query with a `ModuleContractError`, and an exception with a `ModuleFailedError`.

    A function with changed code has another version, and does not continue from the checkpoint of the old one. If its
    results mean the same, the error says what to write instead, with the values filled in, such as
    `from_function(stops, name="function.stops", version="1.0.0", continues_since="code-8621bfcb")`.

    Cost: for a function, the rows of open windows are kept until it is called, and all rows of a key are in one task.
    If that is too much for a hot key, write a module with `combine`, or limit its rows with `EventStream.shedding`.

    Args:
        name: The name `"<plugin>.<module>"` of a module of an installed plugin, a module class, or a function. A class
            of the program itself may omit its version: the version is then a hash of its code, on which the query's
            checkpoint depends. The version of a function is such a hash too, unless an installed package has the
            function: then it is identified by its name.
        inputs: Columns or expressions the module reads, in the order of its input type's fields; no columns for
            a module that only counts its members.
        parameters: The module's initial parameters, by name. A module that reads several inputs takes each of them by
            name as well: a column, or several in a tuple, of the stream of that name in the `union`, or of another
            stream by `from_stream`. A function takes its other arguments, and `returns`, the type of its result if no
            annotation says it, such as `float`, `list[str]` or a dataclass. Several percentiles of a column are one
            list: `module(np.percentile, "km", q=[10, 50, 90], returns=list[float])`.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: The plugin of the module cannot be imported.
        ModuleDefinitionError: The class is not a complete module; or a function does not take that many columns, or
            the type of its result is not known.
        QueryError: An input is not a column, or an input is missing.
        ParameterError: The module's constructor, or the function, does not take the parameters.

    Example:
        >>> module("stats.quantile", "delay", q=0.9).parameters
        {'q': 0.9}
        >>> import numpy as np
        >>> module(np.percentile, "delay", q=90, returns=float).cls.name
        'numpy.percentile'
    """
    if isinstance(name, str):
        return module_call(installed().module(name), inputs, parameters)

    # A function becomes a module class, whose version is a hash of its code.
    if not isinstance(name, type) and callable(name):
        function = _function_of(name)
        check_columns(inputs, function, reads_by_place=True)
        returns = parameters.pop("returns", None)
        function_name, version = identity_of_function(function)
        cls = function_aggregate(function, len(inputs), name=function_name, version=version, returns=returns)
        return module_call(cls, inputs, parameters)

    _check_class(name)
    return module_call(with_version(name), inputs, parameters)


def _function_of(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function that Spark's `pandas_udf` decorates; a function without that decorator as it is.

    Raises:
        ModuleDefinitionError: The function is a UDF that returns a value for each row, or does not take Series.
    """
    kind = getattr(function, "evalType", None)  # the kind of a UDF; plain functions have none
    if kind is None:
        return function
    decorated: Callable[..., object] = cast("Any", function).func
    if kind != _AGGREGATES_SERIES:
        raise ModuleDefinitionError(
            f"{decorated.__name__} is a UDF of Spark's that does not make one value of whole columns as pandas Series\n"
            "  expected: a function such as (km: pd.Series) -> float, with or without @pandas_udf; a UDF that returns\n"
            f"  a value for each row goes into a column: stats.average({decorated.__name__}('km'))"
        )
    return decorated


def from_stream(stream: str, *columns: ColumnLike) -> StreamColumns:
    """Name a stream of a union as an input of a module that reads several inputs.

    Without it, an input of a module reads the stream of the same name. With it, one union serves several such modules.
    Two inputs of a module are two streams; the name may also be one of the `sources` of `events`.

    Args:
        stream: The name of the stream, as `union` has it.
        columns: The columns that the module reads, in the order of the fields of the input's record.

    Raises:
        QueryError: The stream has no name, or an argument is not a column.

    Example:
        >>> inside, outside = from_stream("inside", "celsius"), from_stream("outside", "celsius")
        >>> module("stats.average_difference", left=inside, right=outside).streams["left"]
        StreamColumns(stream='inside', columns=('celsius',))
    """
    check_name("from_stream(stream)", stream)
    for column in columns:
        check_column("column", column)
    return StreamColumns(stream, columns)


def _check_class(module: object) -> None:
    """Raise unless an argument is a module class.

    Raises:
        ModuleDefinitionError: The argument is something else.
    """
    if isinstance(module, type) and issubclass(module, Module):
        return
    if isinstance(module, Module):
        name = type(module).__name__
        raise ModuleDefinitionError(
            f"module() takes a class, got an instance of {name}\n"
            f"  its parameters go by name after the columns: module({name}, 'column', parameter=value)"
        )
    raise ModuleDefinitionError(
        f"{spelled(module)} is not a module class\n"
        "  expected: the name of an installed module, such as 'stats.average', a subclass of one of Muntin's eight\n"
        "  base classes, such as Aggregate, or a function"
    )
