"""The laws of row operators."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.drawings import Bar
from muntin.errors import ModuleDefinitionError
from muntin.modules.row_operator import HANDLERS, RowOperator
from muntin.rows import RowWindows, batch, elapsed, last, marker
from muntin.testing.fitting import misfit
from muntin.testing.laws.law import Law, labelled, law
from muntin.testing.laws.module_laws import PayloadLaws
from muntin.testing.laws.trial import Trial
from muntin.testing.plain_data import records_in, restored
from muntin.testing.row_reference import Given, RowOperatorRun


class DrawnRow(NamedTuple):
    """A row: its time, what the windows read of it, and what the module does."""

    time: int
    values: tuple[Any, ...]
    payload: Any


class RowOperatorTrial(Trial):
    """Draws rows and windows, and looks at what the module gives.

    Attributes:
        subject: The module.
    """

    def __init__(
        self,
        law: Law,
        module: RowOperator[Any, Any, Any, Any],
        windows: Sequence[RowWindows],
        payloads: st.SearchStrategy[Any],
        values: st.SearchStrategy[Any],
        data: object,
    ) -> None:
        """Prepare an attempt, and draw the windows."""
        super().__init__(law, labelled(module), 0.0, data)
        self.subject = module
        self._payloads, self._values = payloads, values
        self._records = records_in(module.state_type()) if law.is_random else frozenset()
        if law.is_random:
            self._windows = self.draw(st.sampled_from(windows))
            self.stream.append(str(self._windows))

    def rows(self, label: str = "row") -> list[DrawnRow]:
        """Draw rows in order, several at a time now and then."""
        rows, time = [], 0
        for _ in range(self.draw(st.integers(1, 8))):
            time += self.draw(st.sampled_from([0, 1, 2, 7]))
            values = tuple(self.draw(self._values) for _ in self._windows.reads)
            rows.append(DrawnRow(time, values, self.draw(self._payloads)))
            told = ", ".join(map(repr, (rows[-1].payload, *values)))
            self.stream.append(Bar(label, time, time + 1, told))
        return rows

    def given(
        self, rows: Sequence[DrawnRow], others: Sequence[DrawnRow] = (), *, restores: bool = False
    ) -> list[Given]:
        """Return the output of the module for the rows of a key.

        Args:
            rows: The rows.
            others: Rows of another key that come in between.
            restores: True to store the state after each row, and go on with what a checkpoint gives back.
        """
        __tracebackhide__ = True
        own, other = (RowOperatorRun(self._windows, self.subject) for _ in range(2))
        found, rest = list[Given](), [*others]
        try:
            for time, values, payload in rows:
                if rest:
                    other.take(*rest.pop(0))
                found += own.take(time, values, payload)
                if restores:
                    own.state = self._restored(own.state)
            found += own.close(rows[-1].time + 20)
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            raise self.broken(
                f"a handler raised {type(error).__name__}: {error}",
                "make it work for the stream above, or say with payloads = ... what may come",
            ) from error
        return found

    def copied(self, rows: Sequence[DrawnRow]) -> list[Any]:
        """Return copies of the payloads."""
        return [deepcopy(row.payload) for row in rows]

    def _restored(self, state: object) -> object:
        try:
            return restored(state, self._records)
        except TypeError as error:
            raise self.broken(f"the state cannot be stored: {error}") from None


_WINDOWS: tuple[RowWindows, ...] = (
    last(2),
    last(3).trigger(2).partition("p", most=2),
    last(elapsed(4)).trigger(elapsed(3)),
    batch(2).partition("p", age=4),
    batch(elapsed(4)),
    batch(marker("m")),
)


class RowOperatorLaws(PayloadLaws):
    """The laws of a `RowOperator`, tried on random rows of one key or two.

    Attributes:
        module: The module under test, an instance.
        windows: The row windows that it is tried in; sliding and tumbling ones, with and without partitions, by
            default.
        payloads: A strategy for one payload; by default what the module's input type says.
        values: A strategy for what the expressions that the windows read may be; small numbers by default.

    Example:
        >>> from muntin import RowOperator
        >>> class Newest(RowOperator[int, list[int], int, None]):
        ...     name, version = "demo.newest", "1.0.0"
        ...     def create_state(self):
        ...         return []
        ...     def on_insert(self, state, row, window):
        ...         state[:] = [max([*state, row.payload])]
        ...         return state
        >>> class TestNewest(RowOperatorLaws):
        ...     module = Newest()
        >>> TestNewest().test_the_state_is_plain_data()
    """

    windows: ClassVar[Sequence[RowWindows]] = _WINDOWS
    values: ClassVar[SearchStrategy[Any]] = st.integers(0, 3)

    _subject_type: ClassVar[type] = RowOperator

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        payloads = cls._payload_strategy() if law.is_random else st.nothing()
        body(cls(), RowOperatorTrial(law, cls.subject(), cls.windows, payloads, cls.values, data))

    @law("complete the class attributes, the types in brackets and create_state", is_random=False)
    def test_definition_is_complete(self, trial: RowOperatorTrial) -> None:
        """The class has a name, a version, types and `create_state`, and its handlers are rightly spelt."""
        cls = type(trial.subject)
        try:
            cls.check_definition()
        except ModuleDefinitionError as error:
            raise trial.broken(str(error)) from None
        for name in (name for name in dir(cls) if name.startswith("on_") and name not in HANDLERS):
            meant = difflib.get_close_matches(name, HANDLERS, 1, 0.5)
            hint = f"; did you mean {meant[0]}?" if meant else f"; the handlers are {', '.join(HANDLERS)}"
            raise trial.broken(f"it defines {name}, which nothing calls{hint}")

    @law("return what the class declares, or declare what it returns; on_evict returns the last of the types")
    def test_results_have_declared_types(self, trial: RowOperatorTrial) -> None:
        """Every row of the results, and of what rows that leave give, fits the declared type."""
        module, evicted = trial.subject, trial.subject.evicted_field()
        for is_evicted, _, row in trial.given(trial.rows()):
            field = evicted if is_evicted else module.result_field()
            trial.expect(field is not None, lambda row=row: f"on_evict returned {row!r}, and the class declares None")  # type: ignore[misc]
            reason = None if field is None else misfit(field, row)
            trial.expect(not reason, lambda row=row, reason=reason: f"the row {row!r} does not fit: {reason}")  # type: ignore[misc]

    @law("build states from numbers, text and lists, dicts and records of these; name records in the state's type")
    def test_the_state_is_plain_data(self, trial: RowOperatorTrial) -> None:
        """A state goes on after a checkpoint as it would have without."""
        rows = trial.rows()
        straight = trial.given(rows)
        trial.expect_same(("with checkpoints", trial.given(rows, restores=True)), ("without", straight), 0.0)

    @law("keep all that results depend on in the state, and ask neither a clock nor chance")
    def test_nothing_else_is_remembered(self, trial: RowOperatorTrial) -> None:
        """Other keys, a new process and a second run make no difference."""
        rows, others = trial.rows(), trial.rows("of another key")
        with self._outside.restored():
            first = trial.given(rows)
        trial.expect_same(("among other keys", trial.given(rows, others)), ("alone", first), 0.0)

    @law("leave rows as they are: copy what you change")
    def test_rows_are_read_only(self, trial: RowOperatorTrial) -> None:
        """No payload is changed."""
        rows = trial.rows()
        before = trial.copied(rows)
        trial.given(rows)
        trial.expect_same(("after", trial.copied(rows)), ("before", before), 0.0)
