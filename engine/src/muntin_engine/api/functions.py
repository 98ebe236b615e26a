"""Expressions in SQL, and functions of plugins and of query writers in them and as conditions of joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Final, cast

from muntin import Function
from muntin.catalog import installed
from muntin.errors import QueryError
from muntin.modules.call import check_column
from muntin.schemas import Field, Scalar, ScalarKind, spell
from muntin_engine.api.arguments import spelled
from muntin_engine.backends.choosing import backend_of, local_backend
from muntin_engine.packages.code_version import code_version
from muntin_engine.plan.request import JoinCondition, SqlExpression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from muntin_engine.plan.request import ColumnLike


def functions(
    spark: SparkSession | ConnectSession | str | Function[..., Any], *names: str | Function[..., Any]
) -> list[str]:
    """Let expressions in SQL call functions, and return the names they have there.

    Args:
        spark: The session of Spark that is to know the functions. Without one, `functions(fare)` makes them known to
            expressions over tables in this process, which know the functions of installed plugins in any case.
        names: Full names of functions that installed plugins offer, such as `"stats.clamp"`, or functions of your own
            that `muntin.function` made; with a session alone, all installed functions. In SQL the dot is an
            underscore: `stats_clamp(x, 0, 1)`.

    Returns:
        The names of the functions in SQL.

    Raises:
        QueryError: The first argument is neither a session of Spark nor a function, a further argument is neither a
            name nor a function that `muntin.function` made, or SQL over tables in this process has a function of the
            same name already.
        UnknownModuleError: No installed plugin offers a name.
    """
    for name in names:
        _check_named_function(name)
    if isinstance(spark, str | Function):
        return local_backend().register_functions(None, (spark, *names))  # without a session it is the first function
    # A session, classic or of Spark Connect, is told by two of its attributes: PySpark may not be installed.
    if not (hasattr(type(spark), "readStream") and hasattr(type(spark), "udf")):
        raise QueryError(
            f"functions() needs a session of Spark, or a function, first, got {spelled(spark)}\n"
            "  write functions(spark, ...), or functions('stats.clamp') for tables in this process"
        )
    return backend_of(spark).register_functions(spark, names)


def expression(text: str) -> SqlExpression:
    """Make a column of an expression in SQL, where text alone would be something else.

    Text with an operator in it is an expression by itself, such as `key="km / 1.6"`. Call `expression` for lengths,
    where text is a time such as `"10 minutes"`; and for an expression without an operator, or with the text of a
    column's name.

    Args:
        text: The expression in Spark's SQL, such as `"minutes * INTERVAL '1' MINUTE"`, or the name of a column.

    Raises:
        QueryError: The argument is no text, or empty.

    Example:
        >>> expression("current_date")
        expression('current_date')
        >>> offers.set_duration(expression("hours * INTERVAL '1' HOUR"))  # doctest: +SKIP
    """
    is_text = isinstance(text, str)  # type checkers know, other callers may not
    if not is_text or not text.strip():
        raise QueryError(
            f"expression({text!r:.80}) is no expression in SQL\n"
            "  expected: text that is one, such as expression('km / 1.6')"
        )
    return SqlExpression(text)


def condition(
    function: str | Function[..., Any] | Callable[..., Any],
    *,
    left: ColumnLike | Sequence[ColumnLike] = (),
    right: ColumnLike | Sequence[ColumnLike] = (),
    **parameters: Any,
) -> JoinCondition:
    """Make a function the condition of a join, `EventStream.join(on=...)`.

    The function is called for each pair of events of a key that overlap, and more than once if these may be revised.
    Events meet if it returns True, and do not meet if it returns False or None. If a column is null and the annotation
    of its parameter does not allow that, the function is not called, and the events do not meet.

    Args:
        function: The full name of a function that an installed plugin offers, a function that `muntin.function` made,
            or a plain function, whose version is a hash of its code. Equal arguments must give equal results.
        left: The columns of the left stream that are its first arguments.
        right: The columns of the right stream that are its next arguments.
        parameters: The arguments that are not columns, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        QueryError: The function is not one of single values that returns a boolean, or an argument is not a column.

    Example:
        >>> heavy = condition(lambda weight, limit, more: weight > limit + more, left="kg", right="limit", more=5)
        >>> heavy.left, heavy.right, heavy.parameters
        (('kg',), ('limit',), {'more': 5})
    """
    boolean = Field("result", Scalar(ScalarKind.BOOLEAN), is_nullable=True)
    predicate: Function[..., Any]
    if isfunction(function):
        # A plain function is taken to return a boolean: each of its results is checked when the query runs.
        predicate = Function(function.__qualname__, code_version(function), function, boolean)
    elif isinstance(function, str):
        predicate = installed().function(function)
    else:
        _check_condition(function)
        predicate = cast("Function[..., Any]", function)
    if predicate.is_vectorized or predicate.result.type != boolean.type:
        fact = "is vectorised" if predicate.is_vectorized else f"returns {spell(predicate.result)}"
        raise QueryError(
            f"{predicate.name} {fact}\n  expected: a function of single values that returns bool or None{_EXAMPLE}"
        )

    left_columns = tuple(left) if isinstance(left, list | tuple) else (left,)
    right_columns = tuple(right) if isinstance(right, list | tuple) else (right,)
    for column in (*left_columns, *right_columns):
        check_column("condition()", column)
    return JoinCondition(predicate, left_columns, right_columns, parameters)


_EXAMPLE: Final = ", such as condition(lambda km, limit: km > limit, left='km', right='limit')"


def _check_condition(function: object) -> None:
    """Raise unless an argument can be the condition of a join: a function, or the name of a function.

    Raises:
        QueryError: The argument is something else.
    """
    if not isinstance(function, str | Function):
        raise QueryError(
            f"condition() takes a function or the name of an installed one, got {spelled(function)}\n"
            f"  expected a function of single values that returns bool or None{_EXAMPLE}"
        )


def _check_named_function(function: object) -> None:
    """Raise unless an argument is the name of a function, or a function that `muntin.function` made.

    Raises:
        QueryError: The argument is something else.
    """
    if isinstance(function, str | Function):
        return
    if isinstance(function, list | tuple):
        names = ", ".join(map(repr, function))
        raise QueryError(f"functions() takes names one by one, got {function!r}\n  write functions(spark, {names})")
    raise QueryError(
        f"{spelled(function)} has no name in SQL\n"
        "  expected: the name of an installed function, such as 'stats.clamp', or one made so:\n"
        "  @muntin.function('<plugin>.<function>', version='1.0.0')"
    )
