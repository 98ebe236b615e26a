"""Functions of plugins as functions of DuckDB, which calls them for a vector of rows at a time.

What DuckDB does otherwise than Spark's workers, and what is done about it:

- It calls from each of its threads, where a worker of Spark's has one: a lock lets a function run once at a time.
- Of an exception it keeps the type and the text: the exception stays here, and the text names the function that has it.
- A vector has 2,048 rows at most, and one row where all arguments are constants: results of a function of whole columns
  must not depend on how rows are cut into batches, on Spark no more than here.
- A constant call is computed while a query is planned; if it fails then, it fails again for the first row, if any.
- It knows functions by a fixed number of arguments: these are the fields of one struct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property
from itertools import count
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from muntin import Function
from muntin.errors import ModuleContractError, ModuleError, MuntinError
from muntin.errors.safe_text import safe_cause, safe_message
from muntin.schemas import spell
from muntin_engine.backends.local.database import create_function
from muntin_engine.backends.local.duckdb_types import INSTANT, duckdb_storage, duckdb_type
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.function_values import (
    argument_series,
    argument_values,
    array_of_series,
    array_of_values,
)
from muntin_engine.backends.planning.field_types import result_type
from muntin_engine.modules.function_call import call_function
from muntin_engine.packages.pickled_code import pickled_with_local_code

_ROW: Final = "row := TRUE"
"""The first field of the struct of arguments, which no function reads.

DuckDB has no struct without fields, and a function may have no arguments.
"""

_NUMBERS: Final = count()
_NAME: Final = re.compile(r"muntin_function_\d+")
"""The names under which DuckDB knows functions: each has the next number."""


class CalledFunction:
    """A function that expressions call with arguments of some types.

    Attributes:
        name: The name of the function in DuckDB.
        function: The function.
        type: The type of its values.
        failure: The exception that it raised last; None if it raised none.
    """

    def __init__(self, name: str, function: Function[..., Any], argument_types: tuple[pa.DataType, ...]) -> None:
        """Register a function with DuckDB.

        Args:
            name: The name of the function in DuckDB.
            function: The function.
            argument_types: The types of its arguments.

        Raises:
            QueryError: The type of its values is not known.
        """
        self.name = name
        self.function = function
        self.type = result_type(function.result, INSTANT)
        self.failure: BaseException | None = None
        self._argument_types = argument_types
        self._label = f"{function.name} {function.version}"
        self._lock = Lock()
        # All arguments pass as the fields of one struct. The field before them is the one of `_ROW`.
        fields: list[tuple[str, pa.DataType]] = [("row", pa.bool_())]
        for place, argument_type in enumerate(argument_types):
            fields.append((f"a{place}", argument_type))
        struct_type = pa.struct(fields)
        create_function(name, self._evaluate, duckdb_type(struct_type), duckdb_type(self.type))

    def call(self, arguments: Iterable[DuckdbExpression]) -> DuckdbExpression:
        """Return a call of the function in DuckDB's SQL, whose arguments are the fields of one struct."""
        fields = [_ROW]
        for place, argument in enumerate(arguments):
            fields.append(f"a{place} := CAST({argument.sql} AS {duckdb_type(argument.type)})")
        return DuckdbExpression(f"{self.name}(struct_pack({', '.join(fields)}))", self.type, may_raise=True)

    def _evaluate(self, rows: pa.ChunkedArray) -> pa.Array:
        """Compute the values for rows of arguments; DuckDB calls this.

        Raises:
            _FailedCallError: The function raised an exception, or returned a value of another type than it declares.
                The exception itself stays in `failure`, as DuckDB passes on only the text of an error.
        """
        with self._lock:  # DuckDB calls this from all of its threads; on Spark, a function runs in one thread
            try:
                return self._values(rows.combine_chunks()).cast(duckdb_storage(self.type))
            except MuntinError as error:
                self.failure = error
            except Exception as error:
                self.failure = ModuleError(f"{self._label} failed: {safe_message(error)}")
                self.failure.__cause__ = safe_cause(error)
            except BaseException as error:  # Ctrl-C, or a call of `sys.exit` in the function
                self.failure = error
        raise _FailedCallError(self.name)

    def _values(self, rows: pa.StructArray) -> pa.Array:
        """Compute the values for rows of arguments, all at once if the function is vectorised."""
        _, *stored_columns = rows.flatten()  # the first field, `_ROW`, is no argument
        columns: list[pa.Array] = []
        for column, argument_type in zip(stored_columns, self._argument_types, strict=True):
            columns.append(column.cast(argument_type))
        if self.function.is_vectorized:
            return self._vectorized_values(columns, len(rows))
        return self._values_by_row(columns, len(rows))

    def _values_by_row(self, columns: list[pa.Array], row_count: int) -> pa.Array:
        """Call the function once for each row."""
        implementation = self.function.implementation
        arguments_of_rows: Iterable[tuple[Any, ...]] = [()] * row_count  # of a function without arguments
        if columns:
            arguments_of_rows = zip(*map(argument_values, columns), strict=True)
        values = [call_function(self._label, implementation, arguments) for arguments in arguments_of_rows]
        try:
            return array_of_values(values, self.type)
        except Exception as error:
            raise self._misfit(error) from error

    def _vectorized_values(self, columns: list[pa.Array], row_count: int) -> pa.Array:
        """Call the function once for all rows, with a Series for each argument."""
        import pandas as pd

        arguments = [argument_series(column) for column in columns]
        series = call_function(self._label, self.function.implementation, arguments)
        if not isinstance(series, pd.Series) or len(series) != row_count:
            returned = f"{len(series)} values" if isinstance(series, pd.Series) else f"a {type(series).__name__}"
            raise ModuleContractError(
                f"{self._label} returned {returned} for {row_count} rows\n"
                "  expected: a Series with a value for each row, as the function is vectorised"
            )
        try:
            return array_of_series(series, self.type)
        except Exception as error:
            raise self._misfit(error) from error

    def _misfit(self, error: Exception) -> ModuleContractError:
        """Return the error for values of another type than the function declares, with the reason that Arrow gives."""
        declared = spell(self.function.result)
        return ModuleContractError(
            f"{self._label} returned what is no {declared}, as it declares: {safe_message(error)}\n"
            f"  expected: values of the type {declared}"
        )

    @property
    def can_travel(self) -> bool:
        """True if the function can be sent to other processes."""
        try:
            _ = self._packed  # pickles the function
        except Exception:  # anything that the parts of the function raise when they are pickled
            return False
        return True

    @cached_property
    def _packed(self) -> bytes:
        """The function and its argument types as bytes; code that is not of an installed package is pickled whole."""
        import cloudpickle

        return pickled_with_local_code(cloudpickle, (self.function, self._argument_types))

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel with the name in DuckDB, which expressions use: the other process registers the function under it."""
        return _unpacked, (self.name, self._packed)


class _FailedCallError(Exception):
    """A function failed; its name in DuckDB is the text of the error."""


_CALLED: Final[dict[str, CalledFunction]] = {}
"""The functions of this process by their names in DuckDB."""


@cache
def called_function(function: Function[..., Any], argument_types: tuple[pa.DataType, ...]) -> CalledFunction:
    """Return a function as DuckDB knows it for arguments of some types; the first call registers it.

    Raises:
        QueryError: The type of its values is not known.
    """
    called = CalledFunction(f"muntin_function_{next(_NUMBERS)}", function, argument_types)
    _CALLED[called.name] = called
    return called


def functions_in(*sqls: str) -> tuple[CalledFunction, ...]:
    """Return the functions of plugins that expressions in DuckDB's SQL call, each once.

    They are found by their names in DuckDB, under which `called_function` has registered them.
    """
    names: dict[str, None] = {}  # a set that keeps its order
    for sql in sqls:
        names.update(dict.fromkeys(_NAME.findall(sql)))
    return tuple(_CALLED[name] for name in names)


def failure_in(error: Exception) -> BaseException | None:
    """Return the exception of a plugin's function that led to an error of DuckDB; None if it has another cause."""
    # DuckDB passes on only the type and the text of an exception. `CalledFunction` raises a `_FailedCallError`, whose
    # text is the name of the function in DuckDB, and keeps the exception itself.
    text = str(error)
    if _FailedCallError.__name__ not in text:
        return None
    name = _NAME.search(text)
    return None if name is None else _CALLED[name.group()].failure


def _unpacked(name: str, packed: bytes) -> CalledFunction:
    """Return a function that another process sent.

    The first call registers the function with DuckDB in this process, under the name that it has in the other one.

    Args:
        name: The name in DuckDB, which the expressions that the other process sends call.
        packed: The function and the types of its arguments, as bytes.
    """
    import pickle

    if name not in _CALLED:
        function, argument_types = pickle.loads(packed)
        _CALLED[name] = CalledFunction(name, function, argument_types)
    return _CALLED[name]
