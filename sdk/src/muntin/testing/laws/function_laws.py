"""The laws of functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Final, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.definitions.methods import check_name
from muntin.errors import ModuleDefinitionError
from muntin.modules.function import Function
from muntin.schemas import describe
from muntin.testing.fitting import misfit
from muntin.testing.laws import strategies
from muntin.testing.laws.conformance import Conformance, law
from muntin.testing.laws.trial import Trial, calling

_ANY_ARGUMENTS: Final = "make it work for the arguments above, or say with arguments = ... what may come"


class FunctionTrial(Trial):
    """One attempt to break a law of a function."""

    tested: Function[..., Any]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the arguments of one call per row; a vectorised function takes them all at once."""
        rows = self.draw(st.lists(self.laws.argument_strategy(), min_size=1, max_size=4))
        self.stream += [f"arguments {row!r}" for row in rows]
        return rows

    def values(self, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the function's value for each row."""
        if not self.tested.is_vectorized:
            return [self.value_of(*row) for row in rows]
        return list(self.value_of(*self.laws.columns(rows)))

    def value_of(self, *arguments: object) -> Any:
        """Return the function's value for some arguments; an exception of the function breaks the law."""
        with calling("it", remedy=_ANY_ARGUMENTS, method="call"):
            return self.tested(*arguments)


class FunctionLaws(Conformance, of=Function, subject="function", trial=FunctionTrial):
    """The laws of a function.

    Attributes:
        function: The function under test, as `muntin.function` made it.
        arguments: A strategy for the tuple of one row's arguments; by default values of the annotated types. A
            vectorised function, whose annotations are Series, needs one.
        series: The function that makes a column of a vectorised function from a list, for example `pandas.Series`.

    Example:
        >>> from muntin import function
        >>> @function("demo.twice", version="1.0.0")
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> class TestTwice(FunctionLaws):
        ...     function = twice
        >>> TestTwice().test_same_arguments_same_result()
    """

    function: ClassVar[Function[..., Any]]
    arguments: ClassVar[SearchStrategy[tuple[Any, ...]] | None] = None
    series: ClassVar[Callable[[list[Any]], Any]] = list

    @classmethod
    def argument_strategy(cls) -> SearchStrategy[tuple[object, ...]]:
        """Return the strategy for one row's arguments."""
        return _from_annotations(cls.subject()) if cls.arguments is None else cls.arguments

    @classmethod
    def columns(cls, rows: Sequence[tuple[object, ...]]) -> list[Any]:
        """Return rows as the columns that a vectorised function takes."""
        return [cls.series(list(column)) for column in zip(*rows, strict=True)]

    @law("name it '<plugin>.<function>', give it a version and annotate its parameters", is_random=False)
    def test_definition_is_complete(self, trial: FunctionTrial) -> None:
        """The function has a name, a version and, where no strategy is given, annotated parameters."""
        try:
            check_name(trial.tested.name)
            self.argument_strategy()
        except ModuleDefinitionError as error:
            raise trial.broken(str(error)) from None
        trial.expect(bool(trial.tested.version), lambda: "its version is empty")

    @law("return what is declared, or declare what it returns; on every path; NumPy's numbers are numbers")
    def test_result_has_declared_type(self, trial: FunctionTrial) -> None:
        """Every value fits the declared type.

        It may be any value that Spark accepts for that type: NumPy's numbers and booleans as well as Python's.
        None fits a type such as `float | None` alone; on Spark it is null whatever is declared.
        """
        for value in trial.values(trial.rows()):
            reason = misfit(trial.tested.result, value)
            trial.expect(not reason, f"the value {value!r} does not fit: {reason}")

    @law("keep nothing between calls, draw no random numbers, read no clock")
    def test_same_arguments_same_result(self, trial: FunctionTrial) -> None:
        """The same arguments give the same value at any time, to the last bit."""
        rows = trial.rows()
        other_rows = trial.rows()
        first = trial.values(rows)
        trial.values(other_rows)
        trial.expect_same(("at first", first), ("after other calls", trial.values(rows)), tolerance=0)

    @law("copy what you change: sorted(values), not values.sort()")
    def test_arguments_are_read_only(self, trial: FunctionTrial) -> None:
        """No argument is changed."""
        rows = trial.rows()
        # A vectorised function takes all rows at once, any other one at a time.
        arguments = self.columns(rows) if trial.tested.is_vectorized else list(rows[0])
        with trial.unchanged("given", "afterwards", arguments, copy=_copied):
            trial.value_of(*arguments)

    @law(
        "compute each row from itself alone, and return one value per row",
        does_not_apply=lambda function: None if function.is_vectorized else f"{function.name} is not vectorised",
    )
    def test_splitting_does_not_matter(self, trial: FunctionTrial) -> None:
        """A vectorised function gives each row the value it gives that row alone."""
        rows = trial.rows()
        values_alone: list[Any] = []
        for row in rows:
            values_alone += trial.values([row])
        trial.expect_same(("all rows at once", trial.values(rows)), ("one row at a time", values_alone))


def _copied(arguments: Sequence[Any]) -> list[Any]:
    """Copy arguments, arrays and Series as lists, which can be compared."""
    copies: list[Any] = []
    for argument in deepcopy(arguments):
        copies.append(list(argument) if hasattr(argument, "__array__") else argument)
    return copies


def _from_annotations(function: Function[..., Any]) -> SearchStrategy[tuple[Any, ...]]:
    """Return a strategy for the arguments of a function, by the annotations of its parameters.

    Raises:
        ModuleDefinitionError: The function is vectorised, or a parameter has no annotation that can be read.
    """

    def unknown(reason: str) -> ModuleDefinitionError:
        """Return the error for arguments that cannot be derived from the annotations."""
        return ModuleDefinitionError(
            f"the arguments of {function.name} are not known: {reason}\n  set: arguments = ..."
        )

    if function.is_vectorized:
        raise unknown("it is vectorised")
    try:
        hints = get_type_hints(function.implementation, include_extras=True)
    except Exception as error:  # evaluating an annotation may raise any exception
        raise unknown(f"its annotations cannot be read: {error}") from error
    names = inspect.signature(function.implementation).parameters
    without_annotation = [name for name in names if name not in hints]
    if without_annotation:
        raise unknown(f"its parameters {', '.join(without_annotation)} have no annotation")
    return st.tuples(*(strategies.payloads(describe(hints[name], name)) for name in names))
