"""A module over something else than the payloads themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from muntin.definitions.methods import hints_of
from muntin.errors import ModuleDefinitionError
from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin_adapters.annotations import type_taken
from muntin_adapters.combinators.annotations import is_variable, substituted, without_null
from muntin_adapters.combinators.wrapping import Delegating, module_class, types_of, wrap
from muntin_adapters.made import maker
from muntin_adapters.spreading import spread_of


def mapping(
    module: str | type[Module], function: Callable[..., object], *, input: object = None, to: object = None
) -> type[Any]:
    """Return a module that sees what a function makes of each payload.

    Args:
        module: A module's name or class. Its parameters and its capabilities stay.
        function: Takes a payload, or the fields of one. The same arguments give the same value.
        input: The type of what it takes; by default what its annotations say. For several arguments a tuple.
        to: The type of what it returns, where the module takes any; by default what its annotation says.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ModuleDefinitionError: A type is not known.

    Example:
        >>> from muntin import Aggregate
        >>> class Largest(Aggregate[float, float]):
        ...     name, version = "demo.largest", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads)
        >>> def speed(distance: float, hours: float) -> float:
        ...     return distance / hours
        >>> mapping(Largest, speed)().compute_result([(10.0, 2.0), (9.0, 3.0)])
        5.0
    """
    return _mapping(module_class(module), function, input, to)


class _Mapping(Delegating):
    _function: ClassVar[Any]
    _spread: ClassVar[Any]

    def _see(self, members: Sequence[Any]) -> Sequence[object]:
        function, spread = self._function, self._spread
        return [self._with_payload(member, function(*spread(self._payload_of(member)))) for member in members]


def mapped_types(
    cls: type[Module], call: str, function: Callable[..., object], given: object, made: object
) -> tuple[object, object]:
    """Return the types of what a function takes, and of the result of a module of what it makes.

    Args:
        cls: The module.
        call: The combinator, for errors.
        function: The function.
        given: The type of what it takes; None if its annotations say that.
        made: The type of what the module gets of it; None if it is not known.

    Raises:
        ModuleDefinitionError: One that is needed is not known.
    """
    inner, _, result = types_of(cls)
    payload = type_taken(function) if given is None else given
    if payload is None:
        raise ModuleDefinitionError(
            f"{call}({cls.name}): what {spell(function)} takes is not known\n"
            "  expected: annotations, as in f(value: float), or input=float, for example"
        )
    variable, _ = without_null(inner)
    if is_variable(variable):
        if made is None:
            raise ModuleDefinitionError(
                f"{call}({cls.name}): what {spell(function)} returns is not known, and {cls.name} takes any type\n"
                "  expected: an annotation of what it returns, or to=float, for example"
            )
        result = substituted(result, {variable: without_null(made)[0]})
    return payload, result


@maker
def _mapping(cls: type[Module], function: Callable[..., object], given: object, to: object) -> type[Any]:
    made = hints_of(function).get("return") if to is None else to
    payload, result = mapped_types(cls, "mapping", function, given, made)
    return wrap(
        cls,
        _Mapping,
        ("mapped", f"of {spell(function)}"),
        payload,
        result,
        {"_function": staticmethod(function), "_spread": staticmethod(spread_of(function, payload))},
    )
