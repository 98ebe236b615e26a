"""A module over the payloads that meet a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin_adapters.combinators.annotations import with_null
from muntin_adapters.combinators.wrapping import Counting, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import spread_of


def filtering(module: str | type[Module], condition: Callable[..., bool]) -> type[Any]:
    """Return a module that sees only the payloads that meet a condition.

    The result is null where no payload does; an operator then has no rows. A window without any member has no result,
    with or without a condition.

    Args:
        module: Name or class of a module, whose parameters and capabilities stay.
        condition: Function that takes a payload, or the fields of one.

    Raises:
        UnknownModuleError: No installed plugin offers the name.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> below = filtering(Largest, lambda value: value < 10)()
        >>> below.compute_result([3.0, 12.0]), below.compute_result([12.0])
        (3.0, None)
    """
    return _filtering(module_class(module), condition)


class _Filtering(Counting):
    _condition: ClassVar[Any]
    _spread: ClassVar[Any]

    def _inner_members(self, members: Sequence[Any]) -> Sequence[object]:
        """Return the members whose payload meets the condition."""
        return [member for member in members if self._condition(*self._spread(self._payload_of(member)))]


@records_recipe
def _filtering(cls: type[Module], condition: Callable[..., bool]) -> type[Any]:
    """Make the class of a module over the payloads that meet a condition."""
    payload, _, result = types_of(cls)
    return wrap(
        cls,
        _Filtering,
        name_suffix="filtered",
        version_suffix=f"where {spell(condition)}",
        payload=payload,
        result=result if cls.is_operator else with_null(result),
        attributes={"_condition": staticmethod(condition), "_spread": staticmethod(spread_of(condition, payload))},
    )
