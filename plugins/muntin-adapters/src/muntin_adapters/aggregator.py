"""Aggregators in the shape of Spark's typed ones as modules."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import reduce
from typing import Any

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.made import maker
from muntin_adapters.options import AdapterOptions, check_options


@maker
def from_aggregator(aggregator: Any, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of an aggregator in the shape of Spark's typed `Aggregator`, which Scala and Java have.

    It has `zero`, a method or a value, `reduce(buffer, value)`, `merge(buffer, other)` and `finish(buffer)`. `merge`
    becomes `combine`.

    Args:
        aggregator: The class, whose constructor's parameters a query may give, or an instance.
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
    return adapt(
        foreign,
        lambda *arguments, **parameters: _Aggregator(foreign.make(*arguments, **parameters)),
        foreign.payload_type(options.get("input"), "reduce", "buffer"),
        foreign.result_type(options.get("result"), "finish"),
        {"combine": True},
        options,
    )


class _Aggregator:
    def __init__(self, aggregator: Any) -> None:
        self._aggregator = aggregator

    def create(self) -> Any:
        zero = self._aggregator.zero
        return zero() if callable(zero) else deepcopy(zero)

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        return reduce(self._aggregator.reduce, payloads, accumulator)

    def combine(self, accumulator: Any, other: Any) -> Any:
        return self._aggregator.merge(accumulator, other)

    def result(self, accumulator: Any) -> Any:
        return self._aggregator.finish(accumulator)
