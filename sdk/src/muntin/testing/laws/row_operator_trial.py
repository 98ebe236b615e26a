"""One attempt to break a law of an operator that follows rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import strategies as st

from muntin.modules.row_operator import RowOperator
from muntin.rows import RowWindows
from muntin.testing.drawings import Bar
from muntin.testing.laws.law import Law, labelled
from muntin.testing.laws.trial import Trial
from muntin.testing.plain_data import records_in, restored
from muntin.testing.row_operator_run import Given, RowOperatorRun


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
