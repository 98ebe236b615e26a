"""The common base of laws classes: it checks how a writer uses them."""

from __future__ import annotations

from typing import Any, ClassVar

from muntin.errors import ModuleDefinitionError
from muntin.testing.laws.error import LawError


class Conformance:
    """The root of all laws classes; subclass one of those, never this.

    Attributes:
        tolerance: Relative and absolute, for numbers in results.

    Raises:
        ModuleDefinitionError: A subclass gives a module of another base class, is not collected by pytest, or
            replaces a law by a test of its own.
    """

    tolerance: ClassVar[float] = 1e-6

    _subject_name: ClassVar[str]
    _subject_type: ClassVar[type]

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for name in vars(cls):
            _check_override(cls, name)
        if cls._subject_name in vars(cls):
            subject = vars(cls)[cls._subject_name]
            _check_subject(cls, subject)
            for name, test in _laws(cls).items():
                if test.law.is_for_some and test.law.does_not_apply(subject) is not None:
                    setattr(cls, name, None)

    def first_fault(self, broken: LawError) -> LawError:
        """Return the error of another law if that is why this one is broken; else the same."""
        return broken

    @classmethod
    def subject_type(cls) -> type:
        """Return the base class whose laws these are."""
        return cls._subject_type

    @classmethod
    def crowd(cls) -> int:
        """Return the size of the large windows that are tried now and then; 0 to try small ones alone."""
        return 0

    @classmethod
    def subject_name(cls) -> str:
        """Return the name of the attribute that holds what is under test."""
        return cls._subject_name

    @classmethod
    def subject(cls) -> Any:
        """Return the subject under test."""
        subject = getattr(cls, cls._subject_name, None)
        if subject is None:
            raise ModuleDefinitionError(
                f"{cls.__qualname__} tests nothing\n  set the class attribute: {cls._subject_name} = ..."
            )
        return subject


def laws_of(cls: type[Conformance]) -> dict[str, str]:
    """Return the laws that a laws class checks: the names of its tests with what they state.

    Laws of modules that read several inputs are among them if it has such a module.

    Example:
        >>> from muntin.testing import AggregateLaws
        >>> laws_of(AggregateLaws)["test_order_does_not_matter"]
        'Any permutation of the members gives an equal result.'
    """
    has_subject = getattr(cls, cls._subject_name, None) is not None
    return {name: test.law.statement for name, test in _laws(cls).items() if has_subject or not test.law.is_for_some}


def _laws(cls: type[Conformance]) -> dict[str, Any]:
    tests = {name: getattr(cls, name) for name in dir(cls) if name.startswith("test_")}
    return {name: test for name, test in tests.items() if hasattr(test, "law")}


def _check_override(cls: type[Conformance], name: str) -> None:
    is_law = any(hasattr(vars(parent).get(name), "law") for parent in cls.__mro__[1:])
    marks = getattr(vars(cls)[name], "pytestmark", [])
    is_excused = any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
    if is_law and not is_excused:
        raise ModuleDefinitionError(
            f"{cls.__qualname__} replaces the law {name}\n"
            "  expected: a law is kept, or marked as known to be broken:\n"
            f"    @pytest.mark.xfail(reason='...', strict=True)\n    def {name}(self): super().{name}()"
        )


def _check_subject(cls: type[Conformance], subject: object) -> None:
    name, expected = cls._subject_name, cls._subject_type
    if not isinstance(subject, expected):
        is_class = isinstance(subject, type)
        hint = "an instance, not the class" if is_class else f"the laws class of the base of {type(subject).__name__}"
        raise ModuleDefinitionError(
            f"{cls.__qualname__} checks the laws of {expected.__name__}, got {name} = {subject!r}\n  to do: use {hint}"
        )
    if not cls.__name__.startswith("Test"):
        raise ModuleDefinitionError(f"pytest does not collect {cls.__qualname__}\n  to do: name it Test{cls.__name__}")
