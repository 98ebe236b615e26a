"""Functions of plugins, and of one's own, in Spark SQL."""

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
from muntin_engine.backends.choosing import backend_of
from muntin_engine.packages.code_version import code_version
from muntin_engine.plan.request import JoinCondition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from muntin_engine.plan.request import ColumnLike


def functions(spark: SparkSession | ConnectSession, *names: str | Function[..., Any]) -> list[str]:
    """Register functions with Spark SQL and return the names they have there.

    Args:
        spark: The session.
        names: Full names of functions that installed plugins offer, such as `"stats.clamp"`, or functions of your own
            that `muntin.function` made; all installed ones if none is given. In SQL the dot is an underscore:
            `stats_clamp(x, 0, 1)`.

    Raises:
        QueryError: The session is not one, or a function is neither.
        UnknownModuleError: No installed plugin offers a name.
    """
    if not (hasattr(type(spark), "readStream") and hasattr(type(spark), "udf")):
        raise QueryError(f"functions() needs a session first, got {spelled(spark)}\n  write functions(spark, ...)")
    for name in names:
        _check_named_function(name)
    return backend_of(spark).register_functions(spark, names)


def condition(
    function: str | Function[..., Any] | Callable[..., Any],
    *,
    left: ColumnLike | Sequence[ColumnLike] = (),
    right: ColumnLike | Sequence[ColumnLike] = (),
    **parameters: Any,
) -> JoinCondition:
    """Make a function the condition of a join, `EventStream.join(on=...)`.

    It is called for each pair of events of a key that overlap, and more than once where these may be revised. Events
    meet if it returns True. They do not if it returns False or None. Where a column is null and the annotation of its
    parameter does not allow that, it is not called, and the events do not meet.

    Args:
        function: The full name of a function that an installed plugin offers, one that `muntin.function` made, or a
            plain function, which has a hash of its code for a version. The same arguments give the same answer.
        left: The columns of the left stream that it reads, its first arguments.
        right: Those of the right stream, its next ones.
        parameters: Its arguments that are no columns, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        QueryError: It is not a function of single values that returns a boolean, or something is not a column.

    Example:
        >>> heavy = condition(lambda weight, limit, more: weight > limit + more, left="kg", right="limit", more=5)
        >>> heavy.left, heavy.right, heavy.parameters
        (('kg',), ('limit',), {'more': 5})
    """
    boolean = Field("result", Scalar(ScalarKind.BOOLEAN), is_nullable=True)
    test: Function[..., Any]
    if isfunction(function):
        test = Function(function.__qualname__, code_version(function), function, boolean)
    elif isinstance(function, str):
        test = installed().function(function)
    else:
        _check_condition(function)
        test = cast("Function[..., Any]", function)
    if test.is_vectorized or test.result.type != boolean.type:
        fact = "is vectorised" if test.is_vectorized else f"returns {spell(test.result)}"
        raise QueryError(
            f"{test.name} {fact}\n  expected: a function of single values that returns bool or None{_CONDITION}"
        )
    left_columns = tuple(left) if isinstance(left, list | tuple) else (left,)
    right_columns = tuple(right) if isinstance(right, list | tuple) else (right,)
    for column in (*left_columns, *right_columns):
        check_column("condition()", column)
    return JoinCondition(test, left_columns, right_columns, parameters)


_CONDITION: Final = ", such as condition(lambda km, limit: km > limit, left='km', right='limit')"


def _check_condition(function: object) -> None:
    """Refuse what cannot be the condition of a join: no function, and no name of one.

    Raises:
        QueryError: It is something else.
    """
    if not isinstance(function, str | Function):
        raise QueryError(
            f"condition() takes a function or the name of an installed one, got {spelled(function)}\n"
            f"  expected a function of single values that returns bool or None{_CONDITION}"
        )


def _check_named_function(function: object) -> None:
    """Refuse what is neither a function's name nor a function that `muntin.function` made.

    Raises:
        QueryError: It is something else.
    """
    if isinstance(function, str | Function):
        return
    if isinstance(function, list | tuple):
        named = ", ".join(map(repr, function))
        raise QueryError(f"functions() takes names one by one, got {function!r}\n  write functions(spark, {named})")
    raise QueryError(
        f"{spelled(function)} has no name in SQL\n"
        "  expected: the name of an installed function, such as 'stats.clamp', or one made so:\n"
        "  @muntin.function('<plugin>.<function>', version='1.0.0')"
    )
