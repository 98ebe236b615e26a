"""A module over sorted payloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin.schemas.value_order import sorted_by_value
from muntin.windows.extent import Window
from muntin_adapters.combinators.wrapping import Wrapping, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import spread_of


def sorting(
    module: str | type[Module], key: Callable[..., object] | None = None, *, descending: bool = False
) -> type[Any]:
    """Return a module that sees its payloads sorted, by themselves or by a key, the smallest first.

    Null comes first and NaN last; records are compared field by field. Payloads whose keys are equal stay in the order
    of time and of the query's `events(order=...)`. As `sorting` of Hazelcast Jet's `AggregateOperations`, whose sorted
    list is `sorting("stats.collect_list", key)`.

    Args:
        module: Name or class of a module, such as one that `reads_order`. Its parameters stay; its capabilities do not,
            as a new payload may belong anywhere among those before it.
        key: Function that takes a payload, or the fields of one, and returns equal values for equal arguments. None to
            sort by the payload.
        descending: True for the largest first.

    Raises:
        UnknownModuleError: No installed plugin offers the name.

    Cost: the members of a window are kept, and sorted for each result.

    Example:
        >>> from muntin import Aggregate
        >>> class Joined(Aggregate[str, str]):
        ...     name, version = "demo.joined", "1.0.0"
        ...     reads_order = True
        ...     def compute_result(self, payloads):
        ...         return " ".join(payloads)
        >>> sorting(Joined)().compute_result(["pear", "fig", "plum"])
        'fig pear plum'
        >>> sorting(Joined, len, descending=True)().compute_result(["fig", "pear", "plum"])
        'pear plum fig'
    """
    return _sorting(module_class(module), key, descending)


class _Sorting(Wrapping):
    _keeps_state: ClassVar[bool] = False
    _key: ClassVar[Any]
    _spread: ClassVar[Any]
    _is_descending: ClassVar[bool]

    def __init__(self, *arguments: object, **parameters: object) -> None:
        super().__init__(*arguments, **parameters)
        self._module = self._module.with_order()

    def with_order(self) -> Module:
        """Return this module: its payloads have an order in every query."""
        return self  # type: ignore[return-value]  # every base class beside this mixin is a module

    def _compute_result(self, members: Sequence[Any], *window: Window) -> Any:
        """Return the wrapped module's result from members in order; its state, if it has one, is made anew."""
        ordered: Any = sorted_by_value(members, self._sort_value, descending=self._is_descending)
        if not self._module.is_incremental:
            return self._module.compute_result(ordered, *window)
        state = self._module.add_events(self._module.create_state(*window), ordered, *window)
        return self._module.compute_result(state, *window)

    def _sort_value(self, member: Any) -> object:
        """Return the value by which a member is sorted: that of the key, or the payload."""
        payload = self._payload_of(member)
        return payload if self._key is None else self._key(*self._spread(payload))


@records_recipe
def _sorting(cls: type[Module], key: Callable[..., object] | None, descending: bool) -> type[Any]:
    """Make the class of a module that gets its members in order: by a key, or by the payloads themselves."""
    payload, _, result = types_of(cls)
    sort_value = "themselves" if key is None else spell(key)
    return wrap(
        cls,
        _Sorting,
        name_suffix="sorted",
        version_suffix=f"by {sort_value}{', descending' if descending else ''}",
        payload=payload,
        result=result,
        attributes={
            # Members with equal keys stay in the query's order. Bare payloads that are equal cannot be told apart, but
            # equal payloads of events may have different lifetimes.
            "reads_order": key is not None or cls.is_time_sensitive,
            "_key": None if key is None else staticmethod(key),
            "_spread": None if key is None else staticmethod(spread_of(key, payload)),
            "_is_descending": descending,
        },
    )
