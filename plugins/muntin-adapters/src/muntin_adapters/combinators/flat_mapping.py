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
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import spread_of


def flat_mapping(
    module: str | type[Module], function: Callable[..., Iterable[object]], *, input: object = None, to: object = None
) -> type[Any]:
    """Return a module that sees all values that a function returns for each payload: none, one or several.

    The result is null where there are no values at all; an operator then has no rows. A time-sensitive module sees each
    value with the lifetime of its event. As `flatMapping` of Hazelcast Jet's `AggregateOperations`.

    Args:
        module: Name or class of a module, whose parameters and capabilities stay.
        function: Function that takes a payload, or the fields of one, and returns equal values for equal arguments.
        input: Type of the function's argument, a tuple for several; by default that of its annotations.
        to: Type of one value, where the module takes any type; by default that of the annotation, as in
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

    def _inner_members(self, members: Sequence[Any]) -> Sequence[object]:
        """Return a member for each value that the function returns for each member's payload."""
        function = self._function
        spread = self._spread
        inner_members: list[object] = []
        for member in members:
            for value in function(*spread(self._payload_of(member))):
                inner_members.append(self._with_payload(member, value))
        return inner_members


@records_recipe
def _flat_mapping(
    cls: type[Module], function: Callable[..., Iterable[object]], argument: object, value: object
) -> type[Any]:
    """Make the class of a module over the values that a function returns for each payload.

    Args:
        cls: The class of the inner module.
        function: The function from a payload to values.
        argument: The type of the function's argument; None for that of the annotation.
        value: The type of one of the values; None for that in the annotation of what it returns.
    """
    # The type of one value is what stands in the brackets of the return type, as `str` in `list[str]`.
    return_type = hints_of(function).get("return")
    origin = get_origin(return_type)
    if value is None and isinstance(origin, type) and issubclass(origin, Iterable):
        value, *_ = get_args(return_type)
    payload, result = mapped_types(cls, "flat_mapping", function, argument, value)
    return wrap(
        cls,
        _FlatMapping,
        name_suffix="flat_mapped",
        version_suffix=f"of each of {spell(function)}",
        payload=payload,
        result=result if cls.is_operator else with_null(result),
        attributes={"_function": staticmethod(function), "_spread": staticmethod(spread_of(function, payload))},
    )
