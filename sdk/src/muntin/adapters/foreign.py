"""Code of another framework, looked at by its structure."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, get_type_hints

from muntin.errors import ModuleDefinitionError
from muntin.schemas import Struct, describe

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANYTHING = inspect.Signature(
    [
        inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD),
    ]
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A class of another framework, or an instance of one.

    Attributes:
        code: The class or the instance.
        module: The name of the module that it becomes.
        shape: What it must look like, for errors.
        protocols: The names of the classes that only declare methods. What is inherited from one is not implemented.
    """

    code: Any
    module: str
    shape: str
    protocols: tuple[str, ...] = ()

    @property
    def cls(self) -> type:
        """The class."""
        return self.code if isinstance(self.code, type) else type(self.code)

    @property
    def signature(self) -> inspect.Signature:
        """The parameters that a query may give: those of the class's constructor; none for an instance."""
        return signature_of(self.code) if isinstance(self.code, type) else inspect.Signature()

    def make(self, *arguments: Any, **parameters: Any) -> Any:
        """Return an instance with these parameters, or a copy of the instance."""
        return self.code(*arguments, **parameters) if isinstance(self.code, type) else deepcopy(self.code)

    def has(self, method: str) -> bool:
        """Return whether a method is implemented."""
        owner = next((cls for cls in self.cls.__mro__ if method in vars(cls)), None)
        is_declared = owner is not None and owner.__name__ in self.protocols
        return not is_declared and callable(getattr(self.code, method, None))

    def require(self, *methods: str) -> None:
        """Raise unless all methods are implemented.

        Raises:
            ModuleDefinitionError: Some are not.
        """
        missing = [method for method in methods if not self.has(method)]
        if missing:
            raise ModuleDefinitionError(
                f"{self.module}: {self.cls.__qualname__} has no {' and no '.join(missing)}\n"
                f"  expected: {self.shape}, with {', '.join(methods)}"
            )

    def require_value(self, attribute: str) -> None:
        """Raise unless there is an attribute, be it a method or a value.

        Raises:
            ModuleDefinitionError: There is none.
        """
        if not hasattr(self.code, attribute):
            raise ModuleDefinitionError(
                f"{self.module}: {self.cls.__qualname__} has no {attribute}\n  expected: {self.shape}"
            )

    def require_class(self) -> None:
        """Raise unless the code is a class: its instances are states, one per window.

        Raises:
            ModuleDefinitionError: It is not.
        """
        if not isinstance(self.code, type):
            raise ModuleDefinitionError(f"{self.module}: {self.code!r} is no class\n  expected: {self.shape}")

    def payload_type(self, given: Any, method: str, after: str = "") -> Any:
        """Return the type of a payload, if it is not given from the parameters of the method that takes one.

        Args:
            given: What the writer says; None for nothing.
            method: The method.
            after: The parameter that stands before the payload, for the error; none if the payload comes first.

        Raises:
            ModuleDefinitionError: The parameters are not annotated.
        """
        taken = self._taken(method, 2 if after else 1)
        hints = hints_of(getattr(self.cls, method))
        types = None if taken is None else [hints.get(name) for name in taken]
        found = given if given is not None else _one_type(types)
        if found is None:
            example = f"{self.cls.__qualname__}.{method}({f'{after}, ' if after else ''}value: float)"
            raise unknown_type(self.module, "its payloads", f"annotations as in {example}", "input")
        return found

    def result_type(self, given: Any, method: str) -> Any:
        """Return the type of the result, if it is not given from the annotation of the method that returns it.

        Raises:
            ModuleDefinitionError: It is not annotated.
        """
        found = given if given is not None else hints_of(getattr(self.cls, method)).get("return")
        if found is None:
            raise unknown_type(self.module, "its result", f"{self.cls.__qualname__}.{method}() -> float", "result")
        return found

    def spreads(self, payload: Any, method: str, after: str = "") -> bool:
        """Return whether the fields of a payload are arguments of their own, as the columns of a call in SQL are."""
        taken = self._taken(method, 2 if after else 1)
        is_record = isinstance(describe(payload).type, Struct)
        return is_record and (taken is None or len(taken) != 1)

    def takes_nothing(self, method: str, after: str = "") -> bool:
        """Return whether the method takes no payload at all, as one that only counts."""
        return self._taken(method, 2 if after else 1) == []

    def _taken(self, method: str, skipped: int) -> list[str] | None:
        """Return the names of the parameters of a method that have no default; None if that cannot be known."""
        parameters = list(signature_of(getattr(self.cls, method)).parameters.values())
        taken = [part.name for part in parameters if part.kind in _BY_PLACE and part.default is part.empty]
        is_open = any(part.kind is part.VAR_POSITIONAL for part in parameters)
        return None if is_open and len(taken) <= skipped else taken[skipped:]


def signature_of(code: Callable[..., Any]) -> inspect.Signature:
    """Return a signature as far as it can be known; code in other languages need not have one."""
    try:
        return inspect.signature(code, eval_str=True)
    except NameError:  # an annotation for type checkers alone
        return inspect.signature(code)
    except (TypeError, ValueError):
        return _ANYTHING


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return annotations as far as they can be read."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


def unknown_type(module: str, whose: str, annotation: str, option: str) -> ModuleDefinitionError:
    """Return the error for a type that nothing says."""
    return ModuleDefinitionError(
        f"{module}: the type of {whose} is not known\n  expected: {annotation}, or {option}=float, for example"
    )


def _one_type(types: list[Any] | None) -> Any:
    """Return the type of a payload that is given as some arguments; None if one of them is not known."""
    if types is None or None in types:
        return None
    if len(types) == 1:
        return types[0]
    return tuple[tuple(types)] if types else Any  # type: ignore[misc]  # known at run time alone
