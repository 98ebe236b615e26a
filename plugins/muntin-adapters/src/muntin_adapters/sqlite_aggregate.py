"""Aggregates and window functions in the shape of `sqlite3` as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import Spread


@records_recipe
def from_sqlite_aggregate(aggregate: object, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of an aggregate for `sqlite3`'s `create_aggregate` or `create_window_function`.

    An aggregate is a class with `step(*values)` and `finalize()`. A window function also has `inverse(*values)`, which
    becomes `remove_events`, and `value()`, which then returns the result. An instance is the state of a window: its
    attributes are stored.

    Args:
        aggregate: Class. A query may give its constructor's parameters, of which SQLite's protocol has none.
        options: See `AdapterOptions`.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class SumOf:
        ...     def __init__(self):
        ...         self.total = 0
        ...     def step(self, value: int):
        ...         self.total += value
        ...     def inverse(self, value):
        ...         self.total -= value
        ...     def value(self) -> int:
        ...         return self.total
        ...     def finalize(self):
        ...         return self.total
        >>> total = from_sqlite_aggregate(SumOf, name="demo.sum_of", version="1.0.0")()
        >>> total.compute_result(total.remove_events(total.add_events(total.create_state(), [1, 2, 6]), [2]))
        7
    """
    check_options(options)
    foreign = Foreign(aggregate, options["name"], "a class that sqlite3 takes as an aggregate")
    foreign.require_class()
    foreign.require("step", "finalize")
    # A window function has `value`, which may be called again; `finalize` may end the object.
    result_method = "value" if foreign.has("value") else "finalize"
    payload = foreign.payload_type(options.get("input"), "step")
    spread = foreign.spread(payload, "step")

    def make(*arguments: object, **parameters: object) -> _SqlAggregate:
        return _SqlAggregate(partial(foreign.make, *arguments, **parameters), spread, result_method)

    return adapt(
        foreign,
        make,
        payload=payload,
        result=foreign.result_type(options.get("result"), result_method),
        capabilities={"remove_events": foreign.has("inverse")},
        options=options,
    )


class _SqlAggregate:
    """An `Accumulation` whose accumulators are instances of an aggregate for `sqlite3`."""

    def __init__(self, create: Callable[[], Any], spread: Spread, result_method: str) -> None:
        self.create = create
        self._spread = spread
        self._result_method = result_method
        create()  # wrong parameters raise an error where the query is built

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Call `step` with each payload."""
        for payload in payloads:
            accumulator.step(*self._spread(payload))
        return accumulator

    def remove(self, accumulator: Any, payloads: Sequence[object]) -> Any:
        """Call `inverse` with each payload."""
        for payload in payloads:
            accumulator.inverse(*self._spread(payload))
        return accumulator

    def result(self, accumulator: Any) -> Any:
        return getattr(accumulator, self._result_method)()
