"""User-defined functions: one value per event, wherever a Spark expression may stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, get_type_hints

from typing_extensions import ParamSpec, TypeVar

from muntin.definitions.methods import check_name
from muntin.errors import ModuleDefinitionError
from muntin.schemas import Field, describe

A = ParamSpec("A")
R = TypeVar("R")


@dataclass(frozen=True)
class Function(Generic[A, R]):
    """A named function that a plugin offers. It stays callable as it was.

    The fields are the arguments of `function`.

    Attributes:
        implementation: The callable.
        result: The type of the value, from the return annotation or from the decorator.
    """

    name: str
    version: str
    implementation: Callable[A, R]
    result: Field
    is_vectorized: bool = False
    continues_since: str | None = None
    requires_same_code: bool = False

    def __call__(self, *args: A.args, **kwargs: A.kwargs) -> R:
        """Call the function itself."""
        return self.implementation(*args, **kwargs)

    def _repr_html_(self) -> str:
        """Return the function with its parameters and its docstring, for notebooks."""
        from muntin.modules.module_html import html_of_function  # only notebooks need it

        return html_of_function(f"{self.name} {self.version}", self.implementation, self.result)

    @property
    def sql_name(self) -> str:
        """The name of the function in Spark SQL: with an underscore in place of the dot."""
        return self.name.replace(".", "_")


def function(
    name: str,
    *,
    version: str,
    result: Any = None,
    vectorized: bool = False,
    continues_since: str | None = None,
    requires_same_code: bool = False,
) -> Callable[[Callable[A, R]], Function[A, R]]:
    """Make a plain function a module that queries find by name.

    Args:
        name: `"<plugin>.<function>"`.
        version: The function's version.
        result: The type of the value; None to take the return annotation. A vectorised function needs it, as its return
            annotation is a Series.
        vectorized: True if the function takes and returns pandas Series of equal length.
        continues_since: The oldest version whose checkpoints this version can continue, because values have meant the
            same since then. None, the default, allows only checkpoints of the same version. A query that calls the
            function in an expression is refused with a checkpoint of any other version.
        requires_same_code: True if a query may not continue from a checkpoint that other code of the same version
            wrote. With False, the default, it continues, and says so in the log and in `explain(checkpoint=...)`.

    Raises:
        ModuleDefinitionError: The name is malformed, or the type of the value is not known.

    Laws: the same arguments give the same value, in any process.

    Cost: one call per row; vectorised, one per batch of rows.

    Example:
        >>> @function("demo.fahrenheit", version="1.0.0")
        ... def fahrenheit(celsius: float) -> float:
        ...     return celsius * 9 / 5 + 32
        >>> fahrenheit(100.0), fahrenheit.sql_name
        (212.0, 'demo_fahrenheit')
    """
    check_name(name)

    def wrap(implementation: Callable[A, R]) -> Function[A, R]:
        """Return the function below the decorator as a `Function`."""
        field = _result_field(name, implementation, result, vectorized=vectorized)
        return Function(
            name,
            version,
            implementation,
            result=field,
            is_vectorized=vectorized,
            continues_since=continues_since,
            requires_same_code=requires_same_code,
        )

    return wrap


def _result_field(name: str, implementation: Callable[..., object], result: object, *, vectorized: bool) -> Field:
    """Return the type of a function's value, from the decorator or else from the return annotation.

    Args:
        name: The name of the function, for messages.
        implementation: The function itself.
        result: The type that the decorator names; None if it names none.
        vectorized: True if the function returns a Series, so that its annotation does not tell the type.

    Raises:
        ModuleDefinitionError: The type is not known, or is not one that a column can have; or an annotation cannot be
            read.
    """
    if result is not None:
        return describe(result, "result")
    if vectorized:
        raise ModuleDefinitionError(
            f"the vectorised function {name} needs its value's type: function({name!r}, result=float, ...)"
        )
    try:
        hints = get_type_hints(implementation, include_extras=True)
    except Exception as error:  # evaluating an annotation may raise any exception
        raise ModuleDefinitionError(
            f"the annotations of {name} cannot be read: {error}\n"
            f"  expected: names that are defined at the top of the file; or function({name!r}, result=float, ...)"
        ) from error
    if "return" not in hints:
        raise ModuleDefinitionError(f"{name} does not say what it returns; annotate it, for example '-> float'")
    return describe(hints["return"], "result")
