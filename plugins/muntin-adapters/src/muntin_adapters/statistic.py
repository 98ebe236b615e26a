"""Running statistics in the shape of river's as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import Spread

_PROTOCOLS: Final = ("Univariate", "Bivariate", "Statistic")


@records_recipe
def from_statistic(statistic: object, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of a running statistic, as river has them.

    A statistic is a class with `update(value)`, or `update(x, y)` for two variables, and `get()`. Where they are
    defined, `revert` becomes `remove_events`, `+` becomes `combine`, and `-` becomes `deduct`. An instance is the state
    of a window: its attributes are stored, or the result of its `__getstate__`.

    Many running statistics depend on the order of their values, or revert only the oldest value. They are no functions
    of a set, and break the laws of `IncrementalAggregate`. With `reads_order=True` a statistic gets its values in
    order.

    Args:
        statistic: Class, whose constructor's parameters a query may give; or an instance, such as a link of two.
        options: See `AdapterOptions`.

    Raises:
        ModuleDefinitionError: A method is missing, or a type is not known.

    Example:
        >>> class Peak:
        ...     def __init__(self, least: float = 0.0):
        ...         self.peak = least
        ...     def update(self, x: float):
        ...         self.peak = max(self.peak, x)
        ...     def get(self) -> float:
        ...         return self.peak
        >>> peak = from_statistic(Peak, name="demo.peak", version="1.0.0")(least=1.0)
        >>> peak.compute_result(peak.add_events(peak.create_state(), [0.5, 3.0, 2.0]))
        3.0

        Other engines require less of `revert` than sliding windows do, and the laws find that. Leave out a method that
        breaks its law:

        >>> from muntin.testing import IncrementalAggregateLaws, LawError
        >>> class Forgetful(Peak):
        ...     def revert(self, x: float):
        ...         self.peak = 0.0 if x == self.peak else self.peak  # the second largest value is unknown
        >>> class TestForgetful(IncrementalAggregateLaws):
        ...     module = from_statistic(Forgetful, name="demo.peak", version="1.0.0")()
        >>> try:
        ...     TestForgetful().test_removing_undoes_adding()
        ... except LawError as error:
        ...     print(error.law)
        removing undoes adding
        >>> safe = from_statistic(Forgetful, name="demo.peak", version="1.0.0", without=["remove_events"])
        >>> hasattr(safe, "remove_events")
        False
    """
    check_options(options)
    foreign = Foreign(statistic, options["name"], "a running statistic, as river has them", _PROTOCOLS)
    foreign.require("update", "get")
    payload = foreign.payload_type(options.get("input"), "update")
    spread = foreign.spread(payload, "update")

    def make(*arguments: object, **parameters: object) -> _Statistic:
        return _Statistic(partial(foreign.make, *arguments, **parameters), spread)

    return adapt(
        foreign,
        make,
        payload=payload,
        result=foreign.result_type(options.get("result"), "get"),
        capabilities={
            "remove_events": foreign.has("revert"),
            "combine": foreign.has("__add__"),
            # `deduct` undoes `combine`, so a statistic with `-` and without `+` does not have it.
            "deduct": foreign.has("__add__") and foreign.has("__sub__"),
        },
        options=options,
    )


class _Statistic:
    """An `Accumulation` whose accumulators are instances of a statistic."""

    def __init__(self, create: Callable[[], object], spread: Spread) -> None:
        self.create = create
        self._spread = spread
        create()  # wrong parameters raise an error where the query is built

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        """Update a statistic with payloads."""
        for payload in payloads:
            accumulator.update(*self._spread(payload))
        return accumulator

    def remove(self, accumulator: Any, payloads: Sequence[object]) -> Any:
        """Revert the updates of a statistic with payloads."""
        for payload in payloads:
            accumulator.revert(*self._spread(payload))
        return accumulator

    def combine(self, accumulator: Any, other: Any) -> Any:
        return accumulator + other

    def deduct(self, accumulator: Any, other: Any) -> Any:
        return accumulator - other

    def result(self, accumulator: Any) -> Any:
        return accumulator.get()
