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

    A subclass has the function in `_function`, and in `_collections` the classes that it takes columns as: `list`, a
    pandas `Series`, or None for an array.

    Cost: about a microsecond per call and column; of a column of numbers, `numpy.asarray` of a list besides.
    """

    _function: ClassVar[Callable[..., Any]]
    _collections: ClassVar[tuple[Callable[[Any], Any] | None, ...]]

    def __init__(self, **parameters: object) -> None:
        self._parameters = parameters

    @property
    def maker(self) -> str:
        """The adapter that makes a module of the same function of one column, with a version of its own."""
        collection = self._collections[0]
        if collection is list:
            return "from_function"
        return "from_array_function" if collection is None else "from_series_function"

    def compute_result(self, payloads: Sequence[In]) -> Out:
        """Call the function with an array, a list or a Series for each column."""
        array_of, python_value = _conversions()
        # Payloads of several columns are tuples, one for each event: turn them into one sequence per column.
        columns: Any = [payloads] if len(self._collections) == 1 else zip(*cast("Any", payloads), strict=True)
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
    """Import, once, the conversions from values to an array and back: NumPy takes its time, and so does each import."""
    from muntin.columnar.payloads import array_of
    from muntin.columnar.results import python_value

    return array_of, python_value


def function_aggregate(
    function: Callable[..., object], columns: int, *, name: str, version: str, returns: object = None
) -> type[FunctionAggregate[Any, Any]]:
    """Return the module class of a function that takes the values of columns by place, and parameters by name.

    Args:
        function: The function.
        columns: The number of columns.
        name: The name of the module.
        version: Its version.
        returns: The type of the result; None if the annotation of the function says it.

    Raises:
        ModuleDefinitionError: There is no column, the function takes fewer, or the type of the result is not known, or
            is none that a column can have.
    """
    # Refuse what cannot become a module: no columns, or no type of the result.
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
    # Called for its error: it refuses a type that no column has.
    describe(result)

    # Split the parameters: the first ones by place take columns, all others are parameters of the module.
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

    # Columns beyond the parameters by place, which `*values` takes, have no annotation and come as arrays.
    annotations = [hints.get(parameter.name) for parameter in by_place[:columns]]
    annotations += [None] * (columns - len(annotations))
    # A list of a type says the type of its column; any other argument leaves it to the query, as a type variable.
    members = list(map(member_type, annotations))
    types = [TypeVar(f"T{place}") if member is None else member for place, member in enumerate(members, 1)]
    reads = types[0] if columns == 1 else tuple[tuple(types)]  # type: ignore[misc]  # known at run time alone
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in by_place[columns:]]
    attributes = {
        "__doc__": function.__doc__,
        "__module__": __name__,
        "__signature__": inspect.Signature([*parameters, *by_name]),
        "_function": staticmethod(function),
        "_collections": tuple(map(_collection, members, annotations)),
        "name": name,
        "version": version,
    }
    base: Any = FunctionAggregate
    # A class is made, as if it were written out: everything else about modules goes by classes.
    return new_class(name, (base[reads, result],), {}, lambda body: body.update(attributes))


def member_type(annotation: object) -> object:
    """Return the type of the members of a list that a function takes; None if it takes an array, or says nothing."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    is_list = isinstance(origin, type) and issubclass(origin, Iterable) and len(arguments) == 1
    return arguments[0] if is_list else None


def _collection(member: object, annotation: object) -> Callable[[Any], Any] | None:
    """Return the class that a function takes a column as; None for an array."""
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
