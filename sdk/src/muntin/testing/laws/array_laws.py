"""The common part of the laws for code that runs on arrays."""

from __future__ import annotations

from functools import cache
from typing import Any

from muntin.columnar.observed import observed, observed_types
from muntin.schemas import Field
from muntin.testing.laws.array_subject import ArraySubject
from muntin.testing.laws.law import first_of
from muntin.testing.laws.module_laws import ModuleLaws
from muntin.testing.laws.module_trial import ModuleTrial


class ArrayLaws(ModuleLaws):
    """Laws of what gets payloads as arrays, in the types that a query would bind."""

    @classmethod
    def reads(cls) -> Field:
        """Return the module's input, with type variables bound to the types of the first payloads."""
        return observed(cls.subject().input_field(), cls._first_payloads())

    @classmethod
    def variables(cls) -> dict[str, Field]:
        """Return the types of the type variables in the module's input."""
        return observed_types(cls.subject().input_field(), cls._first_payloads())

    @classmethod
    def arrays(cls, trial: ModuleTrial) -> ArraySubject:
        """Return the columnar aggregate under test."""
        return ArraySubject(trial.subject.module, cls.reads())

    @classmethod
    @cache
    def _first_payloads(cls) -> tuple[Any, ...]:
        return tuple(first_of(cls._payload_strategy(), 25))
