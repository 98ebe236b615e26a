"""Code of another framework, read by its structure."""

from __future__ import annotations

import inspect
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.schemas import describe
from muntin_adapters.annotations import argument_type
from muntin_adapters.spreading import Spread, spread_of


@dataclass(frozen=True, slots=True)
class Foreign:
    """A class of another framework, or an instance of one.

    Attributes:
        code: Class or instance.
        module: Name of the module that it becomes.
        shape: Expected form, for errors.
        protocols: Names of base classes that only declare methods: a method inherited from one is not implemented.
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
        """Return an instance with parameters; of an instance, a copy."""
        if isinstance(self.code, type):
            return self.code(*arguments, **parameters)
        return deepcopy(self.code)

    def has(self, method: str) -> bool:
        """True if a method is implemented."""
        # A base class of the framework declares methods that only raise: those do not count.
        owner = next((cls for cls in self.cls.__mro__ if method in vars(cls)), None)
        is_declared = owner is not None and owner.__name__ in self.protocols
        return not is_declared and callable(getattr(self.code, method, None))

    def require(self, *methods: str) -> None:
        """Check that methods are implemented.

        Raises:
            ModuleDefinitionError: A method is not implemented.
        """
        missing_methods = [method for method in methods if not self.has(method)]
        if missing_methods:
            raise ModuleDefinitionError(
                f"{self.module}: {self.cls.__qualname__} has no {' and no '.join(missing_methods)}\n"
                f"  expected: {self.shape}, with {', '.join(methods)}"
            )

    def require_value(self, attribute: str) -> None:
        """Check that there is an attribute, be it a method or a value.

        Raises:
            ModuleDefinitionError: There is none.
        """
        if not hasattr(self.code, attribute):
            raise ModuleDefinitionError(
                f"{self.module}: {self.cls.__qualname__} has no {attribute}\n  expected: {self.shape}"
            )

    def require_class(self) -> None:
        """Check that the code is a class, whose instances are the states of windows.

        Raises:
            ModuleDefinitionError: The code is an instance.
        """
        if not isinstance(self.code, type):
            raise ModuleDefinitionError(f"{self.module}: {self.code!r} is not a class\n  expected: {self.shape}")

    def payload_type(self, option: object, method: str, before: str = "") -> Any:
        """Return the type of a payload: that of the option, or else of the parameters of the method that takes one.

        Args:
            option: Type that the writer of the module declares; None for none.
            method: Method that takes a payload.
            before: Name of the parameter before the payload, for an error; empty if the payload comes first.

        Raises:
            ModuleDefinitionError: There is no option, and the parameters are not annotated.
        """
        skipped = 2 if before else 1  # self, and maybe the parameter before the payload
        annotation = option if option is not None else argument_type(getattr(self.cls, method), skipped)
        if annotation is None:
            parameters = f"{before}, value: float" if before else "value: float"
            example = f"{self.cls.__qualname__}.{method}({parameters})"
            raise unknown_type(self.module, "its payloads", f"annotations as in {example}", "input")
        return self._column_type(annotation, "its payloads", "input")

    def result_type(self, option: object, method: str) -> object:
        """Return the type of the result: that of the option, or else of the annotation of the method that returns it.

        Args:
            option: Type that the writer of the module declares; None for none.
            method: Method that returns the result.

        Raises:
            ModuleDefinitionError: There is no option and no annotation.
        """
        annotation = option if option is not None else hints_of(getattr(self.cls, method)).get("return")
        if annotation is None:
            raise unknown_type(self.module, "its result", f"{self.cls.__qualname__}.{method}() -> float", "result")
        return self._column_type(annotation, "its result", "result")

    def _column_type(self, annotation: object, subject: str, option: str) -> object:
        """Return an annotation that a column has; refuse any other."""
        try:
            describe(annotation)
        except (ModuleDefinitionError, IndexError) as error:  # IndexError: a list without the type of its members
            raise ModuleDefinitionError(
                f"{self.module}: the type of {subject} is {annotation!r}, which no column has\n"
                f"  expected: a type such as float, list[str] or a dataclass; say it with {option}="
            ) from error
        return annotation

    def spread(self, payload: object, method: str, before: str = "") -> Spread:
        """Return the function from a payload to the arguments of a method; see `payload_type`."""
        return spread_of(getattr(self.cls, method), payload, 2 if before else 1)


def unknown_type(module: str, subject: str, annotation: str, option: str) -> ModuleDefinitionError:
    """Return the error for a type that is neither declared nor annotated.

    Args:
        module: Name of the module.
        subject: Values of the type: `its payloads` or `its result`.
        annotation: Annotation that would tell the type.
        option: Option that would tell the type.
    """
    return ModuleDefinitionError(
        f"{module}: the type of {subject} is not known\n  expected: {annotation}, or {option}=float, for example"
    )
