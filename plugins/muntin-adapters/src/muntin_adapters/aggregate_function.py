"""Flink's aggregate functions as modules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.prepared import Prepared, nothing
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import Spread

_METHODS: Final = ("create_accumulator", "accumulate", "get_value")
_PROTOCOLS: Final = ("AggregateFunction", "ImperativeAggregateFunction", "UserDefinedFunction")


@records_recipe
def from_aggregate_function(aggregate_function: object, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of an aggregate function, as PyFlink has them.

    A function has `create_accumulator()`, `accumulate(accumulator, *values)` and `get_value(accumulator)`. Where they
    are implemented, `retract(accumulator, *values)` becomes `remove_events` and `merge(accumulator, accumulators)`
    becomes `combine`, and `open(None)` and `close()` are called.

    Args:
        aggregate_function: Class, whose constructor's parameters a query may give; or an instance.
        options: See `AdapterOptions`. An accumulator that is a PyFlink `Row` needs `serialize=list` and
            `deserialize=lambda values: Row(*values)`; a list needs nothing. List and map views have no counterpart: use
            lists and dicts.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class WeightedAverage:
        ...     def create_accumulator(self):
        ...         return [0, 0]
        ...     def accumulate(self, accumulator, value: int, weight: int):
        ...         accumulator[0] += value * weight
        ...         accumulator[1] += weight
        ...     def get_value(self, accumulator) -> float | None:
        ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
        >>> average = from_aggregate_function(WeightedAverage, name="demo.weighted_average", version="1.0.0")()
        >>> average.compute_result(average.add_events(average.create_state(), [(10, 1), (40, 2)]))
        30.0

        A function whose accumulator is not plain data:

        >>> from fractions import Fraction
        >>> class Exact(WeightedAverage):
        ...     def create_accumulator(self):
        ...         return [Fraction(0), Fraction(0)]
        >>> options = {"serialize": lambda pair: [str(part) for part in pair]}
        >>> options["deserialize"] = lambda texts: [Fraction(text) for text in texts]
        >>> exact = from_aggregate_function(Exact, name="demo.exact_average", version="1.0.0", **options)()
        >>> exact.add_events(exact.create_state(), [(10, 1), (40, 2)])
        ['90', '3']
    """
    check_options(options)
    foreign = Foreign(aggregate_function, options["name"], "an aggregate function, as PyFlink has them", _PROTOCOLS)
    foreign.require(*_METHODS)
    payload = foreign.payload_type(options.get("input"), "accumulate", "accumulator")
    spread = foreign.spread(payload, "accumulate", "accumulator")

    def make(*arguments: object, **parameters: object) -> _AggregateFunction:
        return _AggregateFunction(foreign.make(*arguments, **parameters), spread)

    return adapt(
        foreign,
        make,
        payload=payload,
        result=foreign.result_type(options.get("result"), "get_value"),
        capabilities={"remove_events": foreign.has("retract"), "combine": foreign.has("merge")},
        options=options,
    )


class _AggregateFunction:
    """An `Accumulation` by an aggregate function of PyFlink."""

    def __init__(self, function: object, spread: Spread) -> None:
        start = partial(function.open, None) if hasattr(function, "open") else nothing
        self._prepared = Prepared(function, start, getattr(function, "close", nothing))
        self._spread = spread

    def create(self) -> Any:
        return self._prepared.code.create_accumulator()

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Accumulate payloads, which changes the accumulator in place."""
        accumulate = self._prepared.code.accumulate
        for payload in payloads:
            accumulate(accumulator, *self._spread(payload))
        return accumulator

    def remove(self, accumulator: object, payloads: Sequence[object]) -> Any:
        """Retract payloads, which changes the accumulator in place."""
        retract = self._prepared.code.retract
        for payload in payloads:
            retract(accumulator, *self._spread(payload))
        return accumulator

    def combine(self, accumulator: Any, other: Any) -> Any:
        """Merge another accumulator into the first one, which is changed in place."""
        self._prepared.code.merge(accumulator, [other])
        return accumulator

    def result(self, accumulator: Any) -> Any:
        return self._prepared.code.get_value(accumulator)
