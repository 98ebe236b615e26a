"""The common part of the laws classes of what computes on payloads, and on the events of a window."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ClassVar

from hypothesis.strategies import SearchStrategy

from muntin.modules.module import Module
from muntin.testing import strategies
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.law import Law, first_of
from muntin.testing.laws.module_trial import ModuleTrial
from muntin.testing.laws.outside import Outside
from muntin.testing.laws.subject import CallError


class PayloadLaws(Conformance):
    """Laws of something that computes on payloads; subclass the laws class of its base class.

    Attributes:
        module: The module under test, an instance.
        payloads: A strategy for one payload; by default what the module's input type says.
    """

    module: ClassVar[Any]
    payloads: ClassVar[SearchStrategy[Any] | None] = None

    _subject_name: ClassVar[str] = "module"
    _outside: ClassVar[Outside]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls._subject_name in vars(cls):
            cls._outside = Outside(cls.subject())

    @classmethod
    @cache
    def _payload_strategy(cls) -> SearchStrategy[Any]:
        return strategies.payloads(cls.subject().input_field()) if cls.payloads is None else cls.payloads


class ModuleLaws(PayloadLaws):
    """Laws of a module; subclass the laws class of its base class."""

    _subject_type: ClassVar[type] = Module

    @classmethod
    def as_at_first(cls) -> AbstractContextManager[None]:
        """Let the module be as before any window, as it is in a new process, until the end of the block."""
        return cls._outside.restored()

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        many = cls._many_payloads() if law.crowd else ()
        trial = ModuleTrial(law, cls.subject(), cls._payload_strategy(), cls.tolerance, data, many)
        try:
            body(cls(), trial)
        except CallError as error:
            broken = trial.broken(str(error), error.remedy)
            broken.method = error.method
            raise broken from error.__cause__

    @classmethod
    def crowd(cls) -> int:
        """Return the size of the large windows; smaller for operators, which may return a row per pair of members."""
        module = cls.subject()
        most = 130 if module.is_operator else 250
        return most if module.exact_up_to is None else max(0, min(most, module.exact_up_to // 6 - 5))

    @classmethod
    @cache
    def _many_payloads(cls) -> tuple[object, ...]:
        """Return payloads for the members of large windows, drawn once."""
        return tuple(first_of(cls._payload_strategy(), 200))
