"""A module over any number of values for each payload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, get_args, get_origin

from muntin.definitions.methods import hints_of
from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin_adapters.combinators.annotations import with_null
from muntin_adapters.combinators.mapping import mapped_types
from muntin_adapters.combinators.wrapping import Counting, module_class, wrap
from muntin_adapters.made import maker
from muntin_adapters.spreading import spread_of


def flat_mapping(
    module: str | type[Module], function: Callable[..., Iterable[object]], *, input: object = None, to: object = None
) -> type[Any]:
    """Return a module that sees all values that a function makes of each payload: none, one or several.

    The result is null where there are none at all; an operator then has no rows. A time-sensitive module sees each
    value with the lifetime of its event. As `flatMapping` of Hazelcast Jet's `AggregateOperations`.

    Args:
        module: A module's name or class. Its parameters and its capabilities stay.
        function: Takes a payload, or the fields of one, and returns values. The same arguments give the same values.
        input: The type of what it takes; by default what its annotations say. For several arguments a tuple.
        to: The type of one value, where the module takes any; by default what the annotation says, as in
            `-> list[str]`.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: A type is not known.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> def prices(basket: list[float]) -> list[float]:
        ...     return basket
        >>> dearest = flat_mapping(Largest, prices)()
        >>> dearest.compute_result([[3.0, 12.0], [], [5.0]]), dearest.compute_result([[]])
        (12.0, None)
    """
    return _flat_mapping(module_class(module), function, input, to)


class _FlatMapping(Counting):
    _function: ClassVar[Any]
    _spread: ClassVar[Any]

    def _see(self, members: Sequence[Any]) -> Sequence[object]:
        function, spread = self._function, self._spread
        return [
            self._with_payload(member, value)
            for member in members
            for value in function(*spread(self._payload_of(member)))
        ]


@maker
def _flat_mapping(cls: type[Module], function: Callable[..., Iterable[object]], given: object, to: object) -> type[Any]:
    returned = hints_of(function).get("return")
    origin, made = get_origin(returned), to
    if to is None and isinstance(origin, type) and issubclass(origin, Iterable):
        made = get_args(returned)[0]
    payload, result = mapped_types(cls, "flat_mapping", function, given, made)
    return wrap(
        cls,
        _FlatMapping,
        ("flat_mapped", f"of each of {spell(function)}"),
        payload,
        result if cls.is_operator else with_null(result),
        {"_function": staticmethod(function), "_spread": staticmethod(spread_of(function, payload))},
    )
