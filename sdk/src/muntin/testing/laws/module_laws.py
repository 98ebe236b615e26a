"""What the laws classes of all base classes share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from hypothesis.strategies import SearchStrategy

from muntin.modules.module import Module
from muntin.testing import strategies
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.subject import CallError


class ModuleLaws(Conformance):
    """Laws of a module; subclass the laws class of its base class.

    Attributes:
        module: The module under test, an instance.
        payloads: A strategy for one payload; by default what the module's input type says.
    """

    module: ClassVar[Any]
    payloads: ClassVar[SearchStrategy[Any] | None] = None

    _subject_name: ClassVar[str] = "module"
    _subject_type: ClassVar[type] = Module

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        trial = ModuleTrial(law, cls.subject(), cls._payload_strategy(), cls.tolerance, data)
        try:
            body(cls(), trial)
        except CallError as error:
            broken = trial.broken(str(error), error.remedy)
            broken.method = error.method
            raise broken from error.__cause__

    @classmethod
    @cache
    def _payload_strategy(cls) -> SearchStrategy[Any]:
        return strategies.payloads(cls.subject().input_field()) if cls.payloads is None else cls.payloads
