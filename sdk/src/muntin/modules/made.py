"""Module classes that a function makes, for adapters and combinators."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import new_class
from typing import Any, ClassVar

from typing_extensions import ParamSpec

from muntin.modules.module import Module
from muntin.modules.names import check_name

A = ParamSpec("A")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The call that made a class. Classes among its arguments that were made themselves are recipes too.

    Attributes:
        maker: The function.
        arguments: Those given by place.
        options: Those given by name.
    """

    maker: Callable[..., type[Module]]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def make(self) -> type[Module]:
        """Return the class once more."""
        arguments = [_finished(argument) for argument in self.arguments]
        return self.maker(*arguments, **{name: _finished(option) for name, option in self.options.items()})


class Made:
    """A mixin of modules whose class a function made: an instance pickles as its recipe and its attributes.

    So it reaches a worker wherever the function and its arguments do; the class needs no name there.
    """

    _recipe: ClassVar[Recipe]

    def __reduce__(self) -> tuple[Any, ...]:
        cls, state = type(self), self.__getstate__()
        if "_recipe" in vars(cls):
            return (_instance, (cls._recipe,), state)
        return (copyreg.__newobj__, (cls,), state)  # type: ignore[attr-defined]  # a subclass that was written out


def maker(function: Callable[A, type[Module]]) -> Callable[A, type[Module]]:
    """Make the classes that a function returns remember the call."""

    @wraps(function)
    def make(*arguments: A.args, **options: A.kwargs) -> type[Module]:
        cls = function(*arguments, **options)
        recipe = Recipe(make, tuple(map(_unfinished, arguments)), {n: _unfinished(o) for n, o in options.items()})
        cls._recipe = recipe  # type: ignore[attr-defined]  # every one of them is Made
        return cls

    return make


def make_module(bases: tuple[Any, ...], attributes: Mapping[str, Any]) -> type[Module]:
    """Return a complete module class.

    Args:
        bases: Its bases, of which one is a base class of modules with its types in brackets.
        attributes: Its name, version, and what it defines.

    Raises:
        ModuleDefinitionError: The class cannot be used in a query.
    """
    _, _, last = check_name(attributes["name"]).partition(".")
    title = "".join(part.capitalize() for part in last.split("_"))
    cls: type[Module] = new_class(title, bases, {}, lambda body: body.update({"__module__": __name__, **attributes}))
    cls.check_definition()
    return cls


def _instance(recipe: Recipe) -> Module:
    cls = recipe.make()
    return cls.__new__(cls)


def _unfinished(argument: Any) -> Any:
    return vars(argument).get("_recipe", argument) if isinstance(argument, type) else argument


def _finished(argument: Any) -> Any:
    return argument.make() if isinstance(argument, Recipe) else argument
