"""Module classes that a function makes, for adapters and combinators."""

from __future__ import annotations

import copyreg
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import new_class
from typing import Any, ClassVar

from typing_extensions import ParamSpec

from muntin.definitions.methods import check_name
from muntin.modules.module import Module

A = ParamSpec("A")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The call that made a class. Classes among its arguments that were made themselves are recipes too.

    Attributes:
        maker: The function.
        arguments: Those given by place.
        options: Those given by name.
    """

    maker: Callable[..., type[Any]]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def make(self) -> type[Any]:
        """Return the class once more."""
        arguments = [_finished(argument) for argument in self.arguments]
        return self.maker(*arguments, **{name: _finished(option) for name, option in self.options.items()})


class Made:
    """A mixin of modules whose class a function made: an instance pickles as its recipe and its attributes.

    So it reaches a worker wherever the function and its arguments do; the class needs no name there.
    """

    _recipe: ClassVar[Recipe]

    def __reduce__(self) -> tuple[object, ...]:
        cls, state = type(self), self.__getstate__()
        if "_recipe" in vars(cls):
            return (_instance, (cls._recipe,), state)
        return (copyreg.__newobj__, (cls,), state)  # type: ignore[attr-defined]  # a subclass that was written out


def maker(function: Callable[A, type[Any]]) -> Callable[A, type[Any]]:
    """Make the classes that a function returns remember the call."""

    @wraps(function)
    def make(*arguments: A.args, **options: A.kwargs) -> type[Any]:
        cls = function(*arguments, **options)
        recipe = Recipe(make, tuple(map(_unfinished, arguments)), {n: _unfinished(o) for n, o in options.items()})
        cls._recipe = recipe
        return cls

    return make


def make_module(bases: tuple[object, ...], attributes: Mapping[str, object]) -> type[Any]:
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


def constructor(initialise: Callable[..., None], signature: inspect.Signature) -> Callable[..., None]:
    """Return a constructor that takes what a signature says, and tells so."""

    def __init__(self: object, *arguments: object, **parameters: object) -> None:
        signature.bind(*arguments, **parameters)
        initialise(self, *arguments, **parameters)

    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    shown = inspect.Signature([me, *signature.parameters.values()])
    __init__.__signature__ = shown  # type: ignore[attr-defined]  # functions take attributes
    return __init__


def _instance(recipe: Recipe) -> Module:
    cls: Any = recipe.make()
    module: Module = cls.__new__(cls)
    return module


def _unfinished(argument: object) -> object:
    return vars(argument).get("_recipe", argument) if isinstance(argument, type) else argument


def _finished(argument: object) -> object:
    return argument.make() if isinstance(argument, Recipe) else argument
