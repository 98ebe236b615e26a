"""The groups with the largest results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, ClassVar, Generic, get_args, get_origin

from typing_extensions import TypeVar

from muntin.errors import ModuleDefinitionError
from muntin.frozen import subscriptable
from muntin.modules.module import Module
from muntin_adapters.combinators.annotations import without_null
from muntin_adapters.combinators.wrapping import Delegating, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe

Group = TypeVar("Group")
Result = TypeVar("Result")


@subscriptable
@dataclass(frozen=True, slots=True)
class Ranked(Generic[Group, Result]):
    """A group with its result; its place in a list is its rank."""

    group: Group
    result: Result


def top_n(module: str | type[Module], n: int, *, largest: bool = True) -> type[Any]:
    """Return an aggregate that lists the `n` groups with the largest results, largest first.

    Of equal results the smaller group comes first. Groups whose result is null are left out; NaN is larger than any
    number. For the largest payloads themselves there is `stats.top_k`.

    Args:
        module: Name or class of an aggregate whose result is a map, such as `grouping_by("stats.average")`. Its
            parameters and its capabilities stay.
        n: Greatest number of groups in the list.
        largest: False for the smallest results, smallest first.

    Raises:
        ModuleDefinitionError: The module's result is not a map, or n is not positive.

    Example:
        >>> from muntin_adapters.combinators import grouping_by
        >>> from muntin_adapters.combinators.grouping_by import Grouped
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> top_n(grouping_by(Largest), 1)().compute_result([Grouped("b", 2.0), Grouped("a", 1.0)])
        [Ranked(group='b', result=2.0)]
    """
    return _top_n(module_class(module), n, largest)


class _TopN(Delegating):
    _n: ClassVar[int]
    _largest: ClassVar[bool]

    def _outer_result(self, result: Mapping[Any, Any]) -> list[Ranked[object, object]]:
        """Return the first groups of the wrapped module's map, in the order of their values."""
        groups = sorted(group for group, value in result.items() if value is not None)
        # Groups of equal values stay in the order of the groups.
        groups.sort(key=lambda group: _sort_key(result[group]), reverse=self._largest)
        return [Ranked(group, result[group]) for group in groups[: self._n]]


@records_recipe
def _top_n(cls: type[Module], n: object, largest: bool) -> type[Any]:
    """Make the class that keeps the n largest, or least, values of an aggregate whose result is a map.

    Raises:
        ModuleDefinitionError: The result of the inner class is not a map, or n is not a whole number above zero.
    """
    payload, _, result = types_of(cls)
    origin = get_origin(result)
    if cls.is_operator or not (isinstance(origin, type) and issubclass(origin, Mapping)):
        raise ModuleDefinitionError(
            f"top_n({cls.name}): its result is not a map\n  expected: for example top_n(grouping_by({cls.name!r}), {n})"
        )
    if not isinstance(n, int) or n < 1:
        raise ModuleDefinitionError(f"top_n({cls.name}): n is {n!r}\n  expected: a whole number, at least 1")

    # Groups without a result are left out, so results in the list are never null.
    group, value = get_args(result)
    bare_value, _ = without_null(value)
    ranked: Any = Ranked
    return wrap(
        cls,
        _TopN,
        name_suffix="top",
        version_suffix=f"top {n}" if largest else f"least {n}",
        payload=payload,
        result=list[ranked[group, bare_value]],
        attributes={"_n": n, "_largest": largest},
    )


def _sort_key(value: object) -> tuple[bool, object]:
    """Return the sort key of a result, by which NaN is larger than any number."""
    is_nan = isinstance(value, float) and isnan(value)
    return is_nan, 0 if is_nan else value  # no NaN is compared
