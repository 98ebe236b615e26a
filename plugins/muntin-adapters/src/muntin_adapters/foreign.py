"""Code of another framework, looked at by its structure."""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.schemas import describe
from muntin_adapters.annotations import type_taken
from muntin_adapters.spreading import Spread, spread_of


@dataclass(frozen=True, slots=True)
class Foreign:
    """A class of another framework, or an instance of one.

    Attributes:
        code: The class or the instance.
        module: The name of the module that it becomes.
        shape: The expected form, for errors.
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

    def make(self, *arguments: object, **parameters: object) -> Any:
        """Return an instance with these parameters, or a copy of the instance."""
        return self.code(*arguments, **parameters) if isinstance(self.code, type) else deepcopy(self.code)

    def has(self, method: str) -> bool:
        """Return True if a method is implemented."""
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
            raise ModuleDefinitionError(f"{self.module}: {self.code!r} is not a class\n  expected: {self.shape}")

    def payload_type(self, given: object, method: str, after: str = "") -> Any:
        """Return the type of a payload, if it is not given from the parameters of the method that takes one.

        Args:
            given: The writer's statement; None for none.
            method: The method.
            after: The parameter before the payload, for the error; none if the payload comes first.

        Raises:
            ModuleDefinitionError: The parameters are not annotated.
        """
        found = given if given is not None else type_taken(getattr(self.cls, method), 2 if after else 1)
        if found is None:
            example = f"{self.cls.__qualname__}.{method}({f'{after}, ' if after else ''}value: float)"
            raise unknown_type(self.module, "its payloads", f"annotations as in {example}", "input")
        return self._column_type(found, "its payloads", "input")

    def result_type(self, given: object, method: str) -> object:
        """Return the type of the result, if it is not given from the annotation of the method that returns it.

        Raises:
            ModuleDefinitionError: It is not annotated.
        """
        found = given if given is not None else hints_of(getattr(self.cls, method)).get("return")
        if found is None:
            raise unknown_type(self.module, "its result", f"{self.cls.__qualname__}.{method}() -> float", "result")
        return self._column_type(found, "its result", "result")

    def _column_type(self, annotation: object, whose: str, option: str) -> object:
        try:
            describe(annotation)
        except (ModuleDefinitionError, IndexError) as error:  # a list that does not say of what
            raise ModuleDefinitionError(
                f"{self.module}: the type of {whose} is {annotation!r}, which no column has\n"
                f"  expected: a type such as float, list[str] or a dataclass; say it with {option}="
            ) from error
        return annotation

    def spread(self, payload: object, method: str, after: str = "") -> Spread:
        """Return the function from a payload to the arguments of a method; see `payload_type`."""
        return spread_of(getattr(self.cls, method), payload, 2 if after else 1)


def unknown_type(module: str, whose: str, annotation: str, option: str) -> ModuleDefinitionError:
    """Return the error for a type that nothing says."""
    return ModuleDefinitionError(
        f"{module}: the type of {whose} is not known\n  expected: {annotation}, or {option}=float, for example"
    )
