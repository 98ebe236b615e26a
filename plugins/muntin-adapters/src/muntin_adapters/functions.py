"""Functions of all payloads of a window as modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from typing_extensions import Unpack

from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.modules.aggregate import Aggregate
from muntin.modules.function_aggregate import member_type
from muntin_adapters.foreign import unknown_type
from muntin_adapters.options import FunctionOptions, check_options
from muntin_adapters.recipes import PickledAsRecipe, constructor, make_module, records_recipe

In = TypeVar("In")
Out = TypeVar("Out")


class FunctionAggregate(PickledAsRecipe, Aggregate[In, Out], Generic[In, Out]):
    """An aggregate that is a function of a list, of an array or of a Series."""

    _function: ClassVar[Callable[..., Any]]

    def __init__(self, *arguments: object, **parameters: object) -> None:
        self._arguments = arguments
        self._parameters = parameters

    def compute_result(self, payloads: Sequence[In]) -> Out:
        """Call the function with the payloads."""
        returned = self._function(self._function_input(payloads), *self._arguments, **self._parameters)
        result: Out = self._plain_result(returned)
        return result

    def _function_input(self, payloads: Sequence[In]) -> object:
        """Return the payloads in the form that the function takes."""
        return list(payloads)

    def _plain_result(self, returned: object) -> Any:
        """Return the function's value as plain Python."""
        return returned


class _ArrayAggregate(FunctionAggregate[In, Out], Generic[In, Out]):
    def _function_input(self, payloads: Sequence[In]) -> object:
        """Return payloads as an array, or records as a mapping of arrays."""
        from muntin.columnar.payloads import payload_arrays

        field = self.input_field()
        arrays, _ = payload_arrays(field, payloads, skips_nulls=not field.is_nullable)
        return arrays

    def _plain_result(self, returned: object) -> Any:
        """Return the function's value, which may be NumPy's, as plain Python."""
        from muntin.columnar.results import python_value

        return python_value(returned)


class _SeriesAggregate(FunctionAggregate[In, Out], Generic[In, Out]):
    def _function_input(self, payloads: Sequence[In]) -> object:
        """Return payloads as a Series, or records as a DataFrame."""
        from muntin_adapters.series import series_of

        return series_of(self.input_field(), payloads)

    def _plain_result(self, returned: object) -> Any:
        """Return the function's value, which may be of pandas, as plain Python."""
        from muntin_adapters.series import value_of_series

        return value_of_series(returned)


@records_recipe
def from_function(function: Callable[..., object], **options: Unpack[FunctionOptions]) -> type[Any]:
    """Return the module class of a function of a list: all payloads of a window.

    The payloads are in no particular order, unless the options say `reads_order=True`. The function's other parameters
    are those of the module.

    Args:
        function: Function that takes a list, which it may change, and returns a value.
        options: See `FunctionOptions`. By default the types are those of the annotations.

    Raises:
        ModuleDefinitionError: The function takes nothing, or a type is not known.

    Example:
        >>> from statistics import median_low
        >>> low = from_function(median_low, name="demo.low", version="1.0.0", input=float, result=float)
        >>> low().compute_result([3.0, 1.0, 2.5])
        2.5
    """
    return _function_module(FunctionAggregate, function, options)


@records_recipe
def from_array_function(function: Callable[..., object], **options: Unpack[FunctionOptions]) -> type[Any]:
    """Return the module class of a function of a NumPy array.

    Payloads come in the array types of `ColumnarAggregate`; records as a mapping from field name to array. If the input
    type may be null, they come as a `numpy.ma.MaskedArray`. The function may return a value of NumPy's: a scalar, an
    array, or `NaT` or `masked`, which are null.

    Args:
        function: Function that takes an array and returns a value; its other parameters are those of the module.
        options: See `FunctionOptions`. The input type is required.

    Raises:
        ModuleDefinitionError: The function takes nothing, or a type is not known.

    Example:
        >>> import numpy as np
        >>> median = from_array_function(np.median, name="demo.median", version="1.0.0", input=float, result=float)
        >>> median().compute_result([3.0, 1.0, 2.5])
        2.5
    """
    return _function_module(_ArrayAggregate, function, options)


@records_recipe
def from_series_function(function: Callable[..., object], **options: Unpack[FunctionOptions]) -> type[Any]:
    """Return the module class of a function of a pandas Series, or of a DataFrame where payloads are records.

    Nulls are NaN, NaT or NA; datetimes are aware and in UTC. The function may return a value of pandas'.

    Args:
        function: Function that takes a Series or a DataFrame and returns a value; its other parameters are those of the
            module.
        options: See `FunctionOptions`. The input type is required.

    Raises:
        ModuleDefinitionError: The function takes nothing, or a type is not known.

    Example:
        >>> import pandas as pd
        >>> spread = from_series_function(pd.Series.std, name="demo.spread", version="1.0.0", input=float, result=float)
        >>> spread().compute_result([1.0, 3.0, 2.0])
        1.0
    """
    return _function_module(_SeriesAggregate, function, options)


def _function_module(base: Any, function: Callable[..., Any], options: Mapping[str, Any]) -> type[Any]:
    """Make the class of an aggregate that calls a function with all payloads.

    The function's other parameters become those of the constructor.

    Args:
        base: The class that calls the function, generic in the payload and the result.
        function: The function, which takes the payloads first.
        options: The options of the adapter.

    Raises:
        ModuleDefinitionError: The function takes no payloads, or a type is neither declared nor annotated.
    """
    check_options(options)
    name = options["name"]
    if not callable(function):
        raise ModuleDefinitionError(f"{name}: {function!r} is not a function\n  expected: a function of all payloads")
    parameters = list(signature_of(function).parameters.values())
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
        raise ModuleDefinitionError(f"{name}: {function!r} takes no payloads\n  expected: they come first")

    # The types come from the options, or else from the annotations.
    payloads_parameter, *other_parameters = parameters
    hints = hints_of(function)
    payload = options.get("input")
    if payload is None:
        payload = member_type(hints.get(payloads_parameter.name))
    result = options.get("result")
    if result is None:
        result = hints.get("return")
    if payload is None:
        example = f"an annotation such as {payloads_parameter.name}: list[float]"
        raise unknown_type(name, "its payloads", example, "input")
    if result is None:
        raise unknown_type(name, "its result", "an annotation such as -> float", "result")

    # A query gives a module's parameters by name, so those of `*args` cannot be given.
    module_parameters = [part for part in other_parameters if part.kind is not part.VAR_POSITIONAL]
    return make_module(
        (base[payload, result],),
        {
            "name": name,
            "version": options["version"],
            "continues_since": options.get("continues_since"),
            "reads_order": options.get("reads_order", False),
            "__doc__": function.__doc__,
            "__init__": constructor(FunctionAggregate.__init__, inspect.Signature(module_parameters)),
            "_function": staticmethod(function),
        },
    )
