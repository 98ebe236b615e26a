"""Reading a class's own generic arguments, for example `Average(IncrementalAggregate[float, State, float])`."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from muntin.errors import ModuleDefinitionError


def type_arguments(cls: type, root: type) -> dict[str, object]:
    """Return the types that a module class binds to the roles of its base class.

    A base class lists its roles in `_roles`, in the order of its type parameters. Classes in between may pass
    their own type variables on.

    Args:
        cls: A subclass, at any depth, of a class that has `_roles`.
        root: Where the search ends.

    Raises:
        ModuleDefinitionError: The class does not say its types.
    """
    found = _find(cls, root, {})
    if found is None:
        raise ModuleDefinitionError(
            f"{cls.__qualname__} does not say its types\n"
            "  expected: a subclass of, for example, muntin.Aggregate[float, float], with types in brackets"
        )
    return found


def _find(cls: type, root: type, bound: dict[object, object]) -> dict[str, object] | None:
    for base in vars(cls).get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if not (isinstance(origin, type) and issubclass(origin, root)):
            continue
        arguments = tuple(_bind(argument, bound) for argument in get_args(base))
        if "_roles" in vars(origin):
            return dict(zip(vars(origin)["_roles"], arguments, strict=True)) if arguments else None
        found = _find(origin, root, dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False)))
        if found is not None:
            return found
    return None


def _bind(argument: Any, bound: dict[Any, Any]) -> object:
    """Return a type argument with type variables replaced, also those inside it, as in `list[T]`."""
    parameters = getattr(argument, "__parameters__", ())
    inside = tuple(bound.get(parameter, parameter) for parameter in parameters)
    return argument[inside] if parameters else bound.get(argument, argument)
