"""The common part of the laws classes of everything that computes on payloads."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from hypothesis.strategies import SearchStrategy

from muntin.testing import strategies
from muntin.testing.laws.conformance import Conformance
from muntin.testing.laws.outside import Outside


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
