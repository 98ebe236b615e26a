"""Functions of plugins, and of one's own, in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muntin import Function
from muntin_engine.api.arguments import check_function, check_session

if TYPE_CHECKING:
    from muntin_engine.spark.session.kinds import AnySession


def functions(spark: AnySession, *names: str | Function[..., Any]) -> list[str]:
    """Register functions with Spark SQL and return the names they have there.

    Args:
        spark: The session.
        names: Full names of functions that installed plugins offer, such as `"stats.clamp"`, or functions of one's own
            that `muntin.function` made; all installed ones if none is given. In SQL the dot is an underscore:
            `stats_clamp(x, 0, 1)`.

    Raises:
        QueryError: The session is none, or a function is neither.
        UnknownModuleError: No installed plugin offers a name.
    """
    check_session("functions", spark)
    for name in names:
        check_function(name)
    from muntin_engine.spark.functions import register

    return register(spark, names)
