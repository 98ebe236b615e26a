"""Running statistics in the shape of river's as modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from typing_extensions import Unpack

from muntin_adapters.adapted_aggregate import adapt
from muntin_adapters.foreign import Foreign
from muntin_adapters.made import maker
from muntin_adapters.options import AdapterOptions, check_options
from muntin_adapters.spreading import Spread

_PROTOCOLS: Final = ("Univariate", "Bivariate", "Statistic")


@maker
def from_statistic(statistic: object, **options: Unpack[AdapterOptions]) -> type[Any]:
    """Return the module class of a running statistic, as river has them.

    It is a class with `update(value)`, or `update(x, y)` for a statistic of two variables, and `get()`. `revert`
    becomes `remove_events`, `+` becomes `combine`, and `-` becomes `deduct`, where they are defined. An instance is the
    state of a window: what its attributes hold, or what its own `__getstate__` gives, is stored.

    Many running statistics depend on the order of their values, or revert only what came first; those are no functions
    of a set. The laws of `IncrementalAggregate` tell. With `reads_order=True` it gets its values in order.

    Args:
        statistic: The class, whose constructor's parameters a query may give, or an instance, such as a link of two.
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

        Other engines require less of `revert` than sliding windows do, and the laws find that. Leave out what does not
        keep its law:

        >>> from muntin.testing import IncrementalAggregateLaws, LawError
        >>> class Forgetful(Peak):
        ...     def revert(self, x: float):
        ...         self.peak = 0.0 if x == self.peak else self.peak  # the second largest is not known
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
    return adapt(
        foreign,
        lambda *arguments, **parameters: _Statistic(lambda: foreign.make(*arguments, **parameters), spread),
        payload,
        foreign.result_type(options.get("result"), "get"),
        {
            "remove_events": foreign.has("revert"),
            "combine": foreign.has("__add__"),
            "deduct": foreign.has("__add__") and foreign.has("__sub__"),
        },
        options,
    )


class _Statistic:
    def __init__(self, create: Callable[[], object], spread: Spread) -> None:
        self.create = create
        self._spread = spread
        create()  # refuses wrong parameters now

    def add(self, accumulator: Any, payloads: Sequence[Any]) -> Any:
        for payload in payloads:
            accumulator.update(*self._spread(payload))
        return accumulator

    def remove(self, accumulator: Any, payloads: Sequence[object]) -> Any:
        for payload in payloads:
            accumulator.revert(*self._spread(payload))
        return accumulator

    def combine(self, accumulator: Any, other: Any) -> Any:
        return accumulator + other

    def deduct(self, accumulator: Any, other: Any) -> Any:
        return accumulator - other

    def result(self, accumulator: Any) -> Any:
        return accumulator.get()
