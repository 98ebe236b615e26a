"""The kit of all laws: it draws data, tries a law, shrinks a failure and reports it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from inspect import getattr_static, isfunction
from types import FunctionType
from typing import Any, ClassVar, Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import ModuleDefinitionError
from muntin.testing.equality import equal
from muntin.testing.laws.trial import CallError, Law, LawError, Reason, Trial, settings_of
from muntin.testing.plain_data import restored


def law(
    remedy: str,
    *,
    does_not_apply: Reason = lambda module: None,
    is_random: bool = True,
    is_for_some: bool = False,
) -> Callable[[Callable[[Any, Any], None]], Callable[[Any], None]]:
    """Make a method `(self, trial)` of a laws class the test of the law that its name and docstring state.

    Small windows are tried first, as a fault that they show is reported with a small stream; then large ones.

    Args:
        remedy: The remedy for a writer whose module breaks the law.
        does_not_apply: The function from a module to the reason why the law does not apply to it; its test is then
            skipped.
        is_random: False if one trial without random data is enough.
        is_for_some: True to leave the law out where it does not apply, instead of skipping it.
    """

    def wrap(body: Callable[[Any, Any], None]) -> Callable[[object], None]:
        """Return the test of a law, whose body is the method that tries it once."""
        name = body.__name__.removeprefix("test_").replace("_", " ")
        statement = (body.__doc__ or "").strip().partition("\n")[0]
        stated_law = Law(
            name,
            statement,
            remedy,
            is_random=is_random,
            does_not_apply=does_not_apply,
            is_for_some=is_for_some,
        )

        def test(self: Any) -> None:
            """Try the law on random windows; skip it if it does not apply."""
            __tracebackhide__ = True
            reason = does_not_apply(self.subject())
            if reason:
                pytest.skip(f"does not apply: {reason}")
            # Small windows first, without a crowd of further members: a fault that they show has the smaller report.
            crowds = [0]
            if is_random and self.crowd():
                crowds.append(self.crowd())
            for crowd in crowds:
                crowded = replace(stated_law, crowd=crowd)
                try:
                    _try(crowded, partial(self.attempt, crowded, body))
                except LawError as broken:
                    # The same fault may break another law, whose report shows it better.
                    reported = self.first_fault(broken)
                    raise reported.with_traceback(None) from reported.__cause__

        test.__name__ = body.__name__
        test.__qualname__ = body.__qualname__
        test.__doc__ = body.__doc__
        test.law = stated_law  # type: ignore[attr-defined]  # functions take attributes
        return test

    return wrap


def _try(tried_law: Law, attempt: Callable[[Any], None]) -> None:
    """Attempt a law on random data, and raise the last failure, which is the smallest.

    Hypothesis may wrap that failure, or find it flaky: the report is the law's own.
    """
    __tracebackhide__ = True
    # Hypothesis calls `example` again and again with smaller data; the last failure is the smallest. Its random numbers
    # depend on the source of `example`: when a line of that function changes, each law is tried on other streams.
    failures: list[LawError] = []

    def example(data: object) -> None:
        try:
            attempt(data)
        except LawError as failure:
            failures.append(failure)
            raise

    try:
        if tried_law.is_random:
            test = settings_of(tried_law)(given(st.data())(example))
            test()
        else:
            example(None)
    except Exception:
        if not failures:
            raise
    if failures:
        raise failures[-1].with_traceback(None) from failures[-1].__cause__


class Conformance:
    """The root of all laws classes; subclass one of those, never this.

    A kit names the base class whose laws it has (`of`), the attribute that holds the subject under test (`subject`)
    and the class of its attempts (`trial`).

    Attributes:
        tolerance: The relative and absolute tolerance for numbers in results.

    Raises:
        ModuleDefinitionError: A subclass gives a module of another base class, is not collected by pytest, or
            replaces a law by a test of its own.
    """

    tolerance: ClassVar[float] = 1e-6

    _subject_name: ClassVar[str]
    _subject_type: ClassVar[type]
    _trial: ClassVar[type[Trial]]
    _initial_variables: ClassVar[VariableSnapshot]

    def __init_subclass__(
        cls, of: type | None = None, subject: str | None = None, trial: type[Trial] | None = None, **options: object
    ) -> None:
        """Check a new laws class; if it has a subject, hide the laws that are not for that subject.

        Args:
            of: The base class whose laws these are; None to inherit it.
            subject: The name of the attribute that holds the subject under test; None to inherit it.
            trial: The class of attempts; None to inherit it.
            options: The arguments of other base classes.
        """
        super().__init_subclass__(**options)
        # Bases of laws name their subject and trial; the test class of a writer inherits both.
        settings = {"_subject_type": of, "_subject_name": subject, "_trial": trial}
        for name, value in settings.items():
            if value is not None:
                setattr(cls, name, value)
        for name in vars(cls):
            _check_override(cls, name)
        if cls._subject_name in vars(cls):
            tested = vars(cls)[cls._subject_name]
            _check_subject(cls, tested)
            cls._initial_variables = VariableSnapshot(tested)  # `as_at_first` goes back to it
            for name, test in _laws(cls).items():
                # pytest would list a test that is skipped each time; None hides the inherited one.
                if test.law.is_for_some and test.law.does_not_apply(tested) is not None:
                    setattr(cls, name, None)

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once.

        Args:
            law: The law.
            body: The method of the law, called with a laws object and a trial.
            data: The data from Hypothesis that the trial draws from; None for a law that needs none.

        Raises:
            LawError: The law is broken: its method finds a fault, or the writer's code raises an exception.
        """
        trial = cls._trial(law, cls, data)
        try:
            body(cls(), trial)
        except CallError as error:
            broken = trial.broken(str(error), error.remedy)
            broken.method = error.method
            raise broken from error.__cause__

    def first_fault(self, broken: LawError) -> LawError:
        """Return the report of the law whose breach explains a broken law; by default `broken`, the report given."""
        return broken

    @classmethod
    def as_at_first(cls) -> AbstractContextManager[None]:
        """Reset the subject to its state before any call, as in a new process, until the end of the block."""
        return cls._initial_variables.restored()

    @classmethod
    def crowd(cls) -> int:
        """Return the size of the large windows that are tried now and then; 0 to try small ones alone."""
        return 0

    @classmethod
    def subject_type(cls) -> type:
        """Return the base class whose laws these are."""
        return cls._subject_type

    @classmethod
    def subject_name(cls) -> str:
        """Return the name of the attribute that holds the subject under test."""
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
    """Return the laws that a laws class checks: the names of its tests with their statements.

    Laws for some modules only, such as modules that read several inputs, are among them if they apply to its subject.

    Example:
        >>> from muntin.testing import AggregateLaws
        >>> laws_of(AggregateLaws)["test_order_does_not_matter"]
        'Any permutation of the members gives an equal result.'
    """
    has_subject = getattr(cls, cls._subject_name, None) is not None
    statements: dict[str, str] = {}
    for name, test in _laws(cls).items():
        if has_subject or not test.law.is_for_some:
            statements[name] = test.law.statement
    return statements


def _laws(cls: type[Conformance]) -> dict[str, Any]:
    """Return the tests of a class that are laws, by name."""
    tests = {name: getattr(cls, name) for name in dir(cls) if name.startswith("test_")}
    return {name: test for name, test in tests.items() if hasattr(test, "law")}


def _check_override(cls: type[Conformance], name: str) -> None:
    """Refuse an attribute of a laws class that replaces a law, unless it is marked as known to be broken."""
    inherited = [vars(parent).get(name) for parent in cls.__mro__[1:]]
    is_law = any(hasattr(attribute, "law") for attribute in inherited)
    marks = getattr(vars(cls)[name], "pytestmark", [])
    is_excused = any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
    if is_law and not is_excused:
        raise ModuleDefinitionError(
            f"{cls.__qualname__} replaces the law {name}\n"
            "  expected: a law is kept, or marked as known to be broken:\n"
            f"    @pytest.mark.xfail(reason='...', strict=True)\n    def {name}(self): super().{name}()"
        )


def _check_subject(cls: type[Conformance], subject: object) -> None:
    """Refuse a laws class whose subject is of another base class, or that pytest does not collect by its name."""
    name = cls._subject_name
    expected = cls._subject_type
    if not isinstance(subject, expected):
        kind: type = subject if isinstance(subject, type) else type(subject)
        bases = [base.__name__ for base in kind.__mro__ if base.__module__.startswith("muntin.")]
        if isinstance(subject, type) and issubclass(subject, expected):
            hint = f"{name} = {subject.__name__}(), an instance and not the class"
        elif bases:
            hint = f"{bases[0]}Laws, as the base class of {kind.__name__} is {bases[0]}"
        else:
            hint = f"an instance of a subclass of {expected.__name__}"
        raise ModuleDefinitionError(
            f"{cls.__qualname__} checks the laws of {expected.__name__}, got {name} = {subject!r}\n  to do: use {hint}"
        )
    if not cls.__name__.startswith("Test"):
        raise ModuleDefinitionError(f"pytest does not collect {cls.__qualname__}\n  to do: name it Test{cls.__name__}")


_CONTAINERS: Final = (dict, list, set, deque)
_MOST: Final = 10_000
"""The most items of a container that is restored: larger ones are tables that no window fills, and slow to copy."""

Variables: TypeAlias = list[tuple[Any, dict[str, Any]]]


class VariableSnapshot:
    """A snapshot of the variables that a module's methods reach besides their arguments.

    These are the variables of the module and its classes, and the contents of the containers that are their values,
    default arguments or globals that the methods name.
    """

    def __init__(self, module: object) -> None:
        """Take the snapshot of the variables that the methods of a module reach."""
        # Muntin's own classes keep nothing between calls.
        classes = [
            cls for cls in type(module).__mro__ if cls is not object and not cls.__module__.startswith("muntin.")
        ]
        owners = [owner for owner in (module, *classes) if hasattr(owner, "__dict__")]
        self._variables: Variables = [(owner, _plain(vars(owner))) for owner in owners]

        # The values of these variables, of default arguments, and of the globals that the methods name.
        values: list[Any] = []
        for owner in owners:
            values += vars(owner).values()
        for function in _functions_of(classes):
            values += function.__defaults__ or ()
            values += (function.__kwdefaults__ or {}).values()
            for name in function.__code__.co_names:
                if name in function.__globals__:
                    values.append(function.__globals__[name])
        # Only containers can change while a variable keeps them: their contents are copied.
        containers = [value for value in values if isinstance(value, _CONTAINERS) and len(value) <= _MOST]
        self._contents = _contents_of(containers)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restore the variables to the snapshot, until the end of the block."""
        # A second snapshot, of the same variables and containers as they are now, to go back to after the block.
        current = VariableSnapshot.__new__(VariableSnapshot)
        current._variables = [(owner, _plain(vars(owner))) for owner, _ in self._variables]
        current._contents = _contents_of([container for container, _ in self._contents])
        self._restore()
        try:
            yield
        finally:
            current._restore()

    def _restore(self) -> None:
        """Set the variables, and fill the containers, as they were when the snapshot was taken."""
        for owner, variables in self._variables:
            # Variables that a call added go; those that it changed or deleted come back.
            for name in _plain(vars(owner)).keys() - variables.keys():
                delattr(owner, name)
            for name, value in variables.items():
                if vars(owner).get(name, _NOTHING) is not value:
                    setattr(owner, name, value)
        for container, content in self._contents:
            # By `equal`, as `==` raises for an array that a call has put into the container.
            if equal(container, content):
                continue
            # The container stays the same object, as others may hold it.
            container.clear()
            if isinstance(container, dict | set):
                container.update(restored(content))
            else:
                container.extend(restored(content))


_NOTHING: Final = object()


def _functions_of(classes: Iterable[type]) -> Iterator[FunctionType]:
    """Yield the functions that classes define, also those inside static methods, class methods and properties."""
    for cls in classes:
        for name in vars(cls):
            attribute = getattr_static(cls, name)
            function = getattr(attribute, "__func__", getattr(attribute, "fget", attribute))
            if isfunction(function):
                yield function


def _contents_of(containers: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return containers, each once, with a copy of their content; containers of more than plain data are left out."""
    contents: dict[int, tuple[Any, Any]] = {}
    for container in containers:
        # `restored` copies plain data alone: anything else, such as a module, is not the same once it is copied.
        with suppress(TypeError):
            contents[id(container)] = (container, restored(container))
    return list(contents.values())


def _plain(variables: Any) -> dict[str, Any]:
    """Return the variables that a module may assign at runtime: neither methods nor Python's own class attributes."""
    plain: dict[str, Any] = {}
    for name, value in variables.items():
        is_code = callable(value) or hasattr(type(value), "__get__")
        if not is_code and not name.startswith(("__", "_abc")):
            plain[name] = value
    return plain
