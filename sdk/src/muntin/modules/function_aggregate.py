"""Aggregates that call a function with the values of the columns in a window."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import new_class
from typing import Any, ClassVar, Generic, TypeVar, cast, get_args, get_origin

from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.modules.aggregate import Aggregate
from muntin.schemas import describe

In = TypeVar("In")
Out = TypeVar("Out")


class FunctionAggregate(Aggregate[In, Out], Generic[In, Out]):
    """Call a function with the values of each column in a window; `function_aggregate` makes subclasses.

    A subclass has the function in `_function`. `_collections` has the class of the argument for each column: `list`, a
    pandas `Series`, or None for an array.

    Cost: about a microsecond per call and column; for a column of numbers also `numpy.asarray` of a list.
    """

    _function: ClassVar[Callable[..., Any]]
    _collections: ClassVar[tuple[Callable[[Any], Any] | None, ...]]

    def __init__(self, **parameters: object) -> None:
        self._parameters = parameters

    @property
    def maker(self) -> str:
        """The name of the adapter in `muntin_adapters` that makes a named module of the same function."""
        collection = self._collections[0]
        if collection is list:
            return "from_function"
        if collection is None:
            return "from_array_function"
        return "from_series_function"

    def compute_result(self, payloads: Sequence[In]) -> Out:
        """Call the function with an array, a list or a Series for each column."""
        array_of, python_value = _conversions()  # imported at the first call, as NumPy is slow to import
        columns: Any = [payloads]
        if len(self._collections) > 1:
            # Each payload is a tuple with a value of each column: turn the payloads into a sequence per column.
            columns = zip(*cast("Any", payloads), strict=True)
        arguments: list[Any] = []
        for values, collection in zip(columns, self._collections, strict=True):
            if collection is list:
                arguments.append(list(values))
            elif collection is None:
                arguments.append(array_of(values))
            else:
                arguments.append(collection(array_of(values)))
        result: Out = python_value(self._function(*arguments, **self._parameters))
        return result


@cache
def _conversions() -> tuple[Callable[[Sequence[Any]], Any], Callable[[object], Any]]:
    """Return the functions from values to an array, and from a result of NumPy to a value of Python.

    They are imported on the first call, as NumPy is slow to import; the cache saves an import for each later call.
    """
    from muntin.columnar.payloads import array_of
    from muntin.columnar.results import python_value

    return array_of, python_value


def function_aggregate(
    function: Callable[..., object], columns: int, *, name: str, version: str, returns: object = None
) -> type[FunctionAggregate[Any, Any]]:
    """Make a module class from a function that takes the values of columns by place, and parameters by name.

    Args:
        function: The function.
        columns: The number of columns.
        name: The name of the module.
        version: The version of the module.
        returns: The type of the result; None if the annotation of the function says it.

    Raises:
        ModuleDefinitionError: There is no column, or the function takes fewer columns; or the type of the result is not
            known, or is not one that a column can have.
    """
    # A module needs a column, and a type of its result.
    function_name = name.rpartition(".")[2]
    example = f"module({function_name}, 'km', returns=float)"
    if not columns:
        raise ModuleDefinitionError(
            f"the function {function_name} is given no column\n  name one or several: {example}"
        )
    hints = hints_of(function)
    result = hints.get("return") if returns is None else returns
    if result is None:
        raise ModuleDefinitionError(
            f"the type of what the function {function_name} returns is not known\n"
            f"  expected: an annotation such as -> float, or {example}"
        )
    if isinstance(result, str):
        raise ModuleDefinitionError(
            f"returns={result!r} is a text\n  expected: a type of Python's, such as returns=float or returns=list[str]"
        )
    describe(result)  # for its error: it refuses a type that no column has

    # The first parameters take the columns, by place; all others are parameters of the module, and go by name.
    signature = signature_of(function)
    by_place: list[inspect.Parameter] = []
    by_name: list[inspect.Parameter] = []
    takes_any_number = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            takes_any_number = True
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            by_name.append(parameter)
        else:
            by_place.append(parameter)
    if len(by_place) < columns and not takes_any_number:
        raise ModuleDefinitionError(
            f"the function {function_name}{inspect.Signature(list(signature.parameters.values()))} is given "
            f"{columns} columns\n"
            "  expected: a column for each argument that holds values; others go by name"
        )

    # Columns that go into `*values` have no annotation, and come as arrays.
    annotations = [hints.get(parameter.name) for parameter in by_place[:columns]]
    annotations += [None] * (columns - len(annotations))

    # A list of a type says the type of its column. For any other argument there is a type variable, which the query
    # binds.
    member_types = list(map(member_type, annotations))
    column_types: list[Any] = []
    for number, column_type in enumerate(member_types, start=1):
        column_types.append(TypeVar(f"T{number}") if column_type is None else column_type)
    reads = column_types[0] if columns == 1 else tuple[tuple(column_types)]  # type: ignore[misc]  # known at run time alone

    # Make the class as if it were written out: everything else about modules goes by classes.
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in by_place[columns:]]
    attributes = {
        "__doc__": function.__doc__,
        "__module__": __name__,
        "__signature__": inspect.Signature([*parameters, *by_name]),
        "_function": staticmethod(function),
        "_collections": tuple(map(_collection, member_types, annotations)),
        "name": name,
        "version": version,
    }
    base: Any = FunctionAggregate
    return new_class(name, bases=(base[reads, result],), exec_body=lambda body: body.update(attributes))


def member_type(annotation: object) -> object:
    """Return the type of the members of an annotation that is a list or another collection; None for any other."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    is_list = isinstance(origin, type) and issubclass(origin, Iterable) and len(arguments) == 1
    return arguments[0] if is_list else None


def _collection(member: object, annotation: object) -> Callable[[Any], Any] | None:
    """Return the class in which a function gets the values of a column: a list, or a Series; None for an array.

    Args:
        member: The type of the members, if the function takes a list; None otherwise.
        annotation: The annotation of the argument.

    Raises:
        ModuleDefinitionError: The annotation is a class of pandas that does not hold a single column.
    """
    if member is not None:
        return list
    if not isinstance(annotation, type) or annotation.__module__.partition(".")[0] != "pandas":
        return None
    if annotation.__name__ != "Series":
        raise ModuleDefinitionError(
            f"a column is no {annotation.__name__} of pandas\n"
            "  expected: an argument for each column, such as km: pd.Series; for a DataFrame of several columns\n"
            "  muntin_adapters.from_series_function"
        )
    return annotation
