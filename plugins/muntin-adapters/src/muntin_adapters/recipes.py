"""Module classes that a function makes, for adapters and combinators: they pickle as the call that made them."""

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
    """The call that made a class. Arguments that are classes with a recipe are recipes too.

    Attributes:
        function: Function that was called.
        arguments: Arguments by place.
        options: Arguments by name.
    """

    function: Callable[..., type[Any]]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def make(self) -> type[Any]:
        """Make the class anew."""
        arguments = [_to_class(argument) for argument in self.arguments]
        options = {name: _to_class(option) for name, option in self.options.items()}
        return self.function(*arguments, **options)


class PickledAsRecipe:
    """A mixin of modules whose class a function made: an instance pickles as its recipe and its attributes.

    So it reaches a worker wherever the function and its arguments do; the class needs no name there.
    """

    _recipe: ClassVar[Recipe]

    def __reduce__(self) -> tuple[object, ...]:
        cls = type(self)
        state = self.__getstate__()
        if "_recipe" in vars(cls):
            return (_instance, (cls._recipe,), state)
        # A subclass that is written out has a name by which a worker finds it.
        return (copyreg.__newobj__, (cls,), state)  # type: ignore[attr-defined]


def records_recipe(function: Callable[A, type[Any]]) -> Callable[A, type[Any]]:
    """Decorate a function that makes classes: each class gets the recipe by which it was made."""

    @wraps(function)
    def make(*arguments: A.args, **options: A.kwargs) -> type[Any]:
        cls = function(*arguments, **options)
        # The recipe calls `make` again, so a class that is made anew has a recipe, too.
        cls._recipe = Recipe(
            make,
            tuple(map(_to_recipe, arguments)),
            {name: _to_recipe(option) for name, option in options.items()},
        )
        return cls

    return make


def make_module(bases: tuple[object, ...], attributes: Mapping[str, object]) -> type[Any]:
    """Make a complete module class.

    Args:
        bases: Base classes, among them a base class of modules with its types in brackets.
        attributes: Name, version, and further definitions of the class.

    Raises:
        ModuleDefinitionError: The class cannot be used in a query.
    """
    _, _, module_name = check_name(attributes["name"]).partition(".")
    class_name = "".join(word.capitalize() for word in module_name.split("_"))
    definitions = {"__module__": __name__, **attributes}
    cls: type[Module] = new_class(class_name, bases, {}, lambda namespace: namespace.update(definitions))
    cls.check_definition()
    return cls


def constructor(initialise: Callable[..., None], signature: inspect.Signature) -> Callable[..., None]:
    """Return a constructor that has a signature, checks its arguments against it, and calls `initialise`."""

    def __init__(self: object, *arguments: object, **parameters: object) -> None:
        signature.bind(*arguments, **parameters)
        initialise(self, *arguments, **parameters)

    self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    with_self = inspect.Signature([self_parameter, *signature.parameters.values()])
    __init__.__signature__ = with_self  # type: ignore[attr-defined]  # functions take attributes
    return __init__


def _instance(recipe: Recipe) -> Module:
    """Return an instance without attributes, which pickle then sets; the constructor is not called again."""
    cls: Any = recipe.make()
    module: Module = cls.__new__(cls)
    return module


def _to_recipe(argument: object) -> object:
    """Return the recipe of an argument that is a class with one; any other argument as it is."""
    return vars(argument).get("_recipe", argument) if isinstance(argument, type) else argument


def _to_class(argument: object) -> object:
    """Undo `_to_recipe`."""
    return argument.make() if isinstance(argument, Recipe) else argument
