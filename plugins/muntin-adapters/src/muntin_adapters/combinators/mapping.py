"""A module over values that a function computes from payloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from muntin.definitions.methods import hints_of
from muntin.errors import ModuleDefinitionError
from muntin.modules.module import Module
from muntin.modules.parameters import spell
from muntin_adapters.annotations import argument_type
from muntin_adapters.combinators.annotations import is_variable, substituted, without_null
from muntin_adapters.combinators.wrapping import Delegating, module_class, types_of, wrap
from muntin_adapters.recipes import records_recipe
from muntin_adapters.spreading import spread_of


def mapping(
    module: str | type[Module], function: Callable[..., object], *, input: object = None, to: object = None
) -> type[Any]:
    """Return a module that sees the value of a function for each payload.

    Args:
        module: Name or class of a module, whose parameters and capabilities stay.
        function: Function that takes a payload, or the fields of one, and returns equal values for equal arguments.
        input: Type of the function's argument, a tuple for several; by default that of its annotations.
        to: Type of the function's value, where the module takes any type; by default that of its annotation.

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

    def _inner_members(self, members: Sequence[Any]) -> Sequence[object]:
        """Return each member with the value of the function in the place of its payload."""
        function = self._function
        spread = self._spread
        inner_members: list[object] = []
        for member in members:
            value = function(*spread(self._payload_of(member)))
            inner_members.append(self._with_payload(member, value))
        return inner_members


def mapped_types(
    cls: type[Module], combinator: str, function: Callable[..., object], argument: object, value: object
) -> tuple[object, object]:
    """Return the types of a payload and of a result, of a module over the values of a function.

    Args:
        cls: Class of the module.
        combinator: Name of the combinator, for errors.
        function: Function.
        argument: Type of the function's argument; None to read its annotations.
        value: Type of a value that the module gets; None if it is not known.

    Raises:
        ModuleDefinitionError: A type is not known and needed.
    """
    inner_payload, _, result = types_of(cls)
    payload = argument_type(function) if argument is None else argument
    if payload is None:
        raise ModuleDefinitionError(
            f"{combinator}({cls.name}): what {spell(function)} takes is not known\n"
            "  expected: annotations, as in f(value: float), or input=float, for example"
        )
    # A module that takes any type has results of a type that the function's value decides.
    variable, _ = without_null(inner_payload)
    if is_variable(variable):
        if value is None:
            raise ModuleDefinitionError(
                f"{combinator}({cls.name}): what {spell(function)} returns is not known, "
                f"and {cls.name} takes any type\n"
                "  expected: an annotation of what it returns, or to=float, for example"
            )
        bare_value, _ = without_null(value)
        result = substituted(result, {variable: bare_value})
    return payload, result


@records_recipe
def _mapping(cls: type[Module], function: Callable[..., object], argument: object, value: object) -> type[Any]:
    """Make the class of a module over the value that a function returns for each payload.

    Args:
        cls: The class of the inner module.
        function: The function from a payload to a value.
        argument: The type of the function's argument; None for that of the annotation.
        value: The type of the value; None for that of the annotation.
    """
    if value is None:
        value = hints_of(function).get("return")
    payload, result = mapped_types(cls, "mapping", function, argument, value)
    return wrap(
        cls,
        _Mapping,
        name_suffix="mapped",
        version_suffix=f"of {spell(function)}",
        payload=payload,
        result=result,
        attributes={"_function": staticmethod(function), "_spread": staticmethod(spread_of(function, payload))},
    )
