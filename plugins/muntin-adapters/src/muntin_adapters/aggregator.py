"""Aggregators in the shape of Spark's as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import reduce
from typing import Any, get_args, get_origin

from typing_extensions import Unpack

from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.schemas import Struct, describe
from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spark_schema import annotation_of, tuple_of


@records_recipe
def from_aggregator(aggregator: Any, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of an aggregator in the shape of Spark's `Aggregator`.

    An aggregator has `zero`, a method or a value, `reduce(buffer, value)`, `merge(buffer, other)` and `finish(buffer)`.
    `merge` becomes `combine`.

    There are two shapes, told apart by their structure. A typed aggregator, as in Scala and Java, reads values as they
    are and has its types in annotations. An aggregator of PySpark from 4.4 on has `bufferSchema` and `outputType`: its
    buffer is a tuple of the schema's fields, its result has that type, and `reduce` gets the arguments of a call as a
    tuple, also where there is a single one. It does not declare the types of its arguments, so it takes one column of
    any type, unless `input` or an annotation of `value` tells more, such as `tuple[float, int]` for two columns. A
    class whose constructor needs parameters comes as an instance, as `udaf` takes it; as a class it needs `result`.

    Args:
        aggregator: Class, whose constructor's parameters a query may give; or an instance.
        options: See `AdapterOptions`.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class Longest:
        ...     zero = ""
        ...     def reduce(self, buffer, value: str):
        ...         return max(buffer, value, key=lambda text: (len(text), text))
        ...     def merge(self, buffer, other):
        ...         return self.reduce(buffer, other)
        ...     def finish(self, buffer) -> str:
        ...         return buffer
        >>> longest = from_aggregator(Longest, name="demo.longest", version="1.0.0")()
        >>> longest.compute_result(longest.add_events(longest.create_state(), ["a", "abc", "ab"]))
        'abc'
    """
    check_options(options)
    foreign = Foreign(aggregator, options["name"], "zero and the methods of Spark's Aggregator", ("Aggregator",))
    foreign.require("reduce", "merge", "finish")
    foreign.require_value("zero")
    if _has_schemas(foreign):
        return _adapt_by_schemas(foreign, options)

    def make(*arguments: object, **parameters: object) -> _Aggregator:
        return _Aggregator(foreign.make(*arguments, **parameters))

    return adapt(
        foreign,
        make,
        payload=foreign.payload_type(options.get("input"), "reduce", "buffer"),
        result=foreign.result_type(options.get("result"), "finish"),
        capabilities={"combine": True},
        options=options,
    )


def _has_schemas(foreign: Foreign) -> bool:
    """True for an aggregator of PySpark, which declares its types as schemas."""
    return hasattr(foreign.code, "bufferSchema") and hasattr(foreign.code, "outputType")


def _adapt_by_schemas(foreign: Foreign, options: AdapterOptions) -> type[Any]:
    """Return the module class of an aggregator that has a buffer schema and an output type."""
    instance = _instance_of(foreign, options)
    result = options.get("result")
    state = options.get("state")
    if instance is not None:
        try:
            # Fields of a schema may be null, and so may a result.
            if result is None:
                result = annotation_of(instance.outputType) | None
            if state is None:
                state = tuple_of(instance.bufferSchema)
        except ModuleDefinitionError as error:
            raise ModuleDefinitionError(f"{foreign.module}: {error}, or say it with result= and state=") from error
    payload = foreign.payload_type(_arguments_type(foreign, options), "reduce", "buffer")
    to_tuple = _tuple_maker(payload)
    # With `serialize`, states are what that function returns, and not buffers: the schema does not tell their type.
    if "serialize" not in options:
        options = {**options, "state": Any if state is None else state}

    def make(*arguments: object, **parameters: object) -> _Aggregator:
        return _Aggregator(foreign.make(*arguments, **parameters), to_tuple)

    return adapt(
        foreign,
        make,
        payload=payload,
        result=foreign.result_type(result, "finish"),
        capabilities={"combine": True},
        options=options,
    )


def _instance_of(foreign: Foreign, options: AdapterOptions) -> Any:
    """Return an aggregator whose schemas can be read; None for a class whose constructor requires parameters.

    Raises:
        ModuleDefinitionError: The constructor requires parameters, and `result` does not tell the output type.
    """
    required = [part for part in foreign.signature.parameters.values() if part.default is part.empty]
    if not required:
        return foreign.make()
    if options.get("result") is not None:
        return None
    names = ", ".join(part.name for part in required)
    raise ModuleDefinitionError(
        f"{foreign.module}: {foreign.cls.__qualname__} has an output type when it is made, which takes {names}\n"
        "  expected: an instance instead of the class; or result=float, for example, and input= as well"
    )


def _arguments_type(foreign: Foreign, options: AdapterOptions) -> Any:
    """Return the type of the arguments of a call: a tuple, or the type of a single one; `Any` if it is unknown."""
    if options.get("input") is not None:
        return options["input"]
    method: Any = vars(foreign.cls).get("reduce") or getattr(foreign.code, "reduce", None)
    *_, value_name = signature_of(method).parameters  # the last parameter, behind the buffer
    annotation = hints_of(method).get(value_name)
    has_any_length = annotation is tuple or (get_origin(annotation) is tuple and Ellipsis in get_args(annotation))
    return Any if annotation is None or has_any_length else annotation


def _tuple_maker(payload: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function from a payload of a type to the tuple of its columns, which `reduce` of PySpark takes."""
    data_type = describe(payload).type
    if not isinstance(data_type, Struct):
        return _single_argument
    if get_origin(payload) is tuple or hasattr(payload, "_fields"):
        return tuple  # tuples, and named ones, are sequences of their columns; other records have attributes
    names = [part.name for part in data_type.fields]
    return lambda record: tuple(getattr(record, name) for name in names)


def _single_argument(value: Any) -> tuple[Any, ...]:
    return (value,)


def _unchanged(value: Any) -> Any:
    return value


class _Aggregator:
    """An `Accumulation` by an aggregator of Spark.

    Args:
        aggregator: Aggregator.
        to_value: Function from a payload to the value that `reduce` takes.
    """

    def __init__(self, aggregator: Any, to_value: Callable[[Any], Any] = _unchanged) -> None:
        self._aggregator = aggregator
        self._to_value = to_value

    def create(self) -> Any:
        """Return the aggregator's zero."""
        # It may be a method or a value; a value is copied, as `reduce` may change it.
        zero = self._aggregator.zero
        return zero() if callable(zero) else deepcopy(zero)

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Reduce payloads into a buffer, one by one."""
        # Spark's `reduce` takes a buffer and one value, and returns the buffer.
        return reduce(self._aggregator.reduce, map(self._to_value, payloads), accumulator)

    def combine(self, accumulator: Any, other: Any) -> Any:
        return self._aggregator.merge(accumulator, other)

    def result(self, accumulator: Any) -> Any:
        return self._aggregator.finish(accumulator)
