"""The contract by which the planner reads the inputs of a backend: their columns, and a projection of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin import Function
    from muntin_engine.backends.planned_query import ProjectedRows
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.lengths import AxisScale
    from muntin_engine.plan.request import ColumnLike, InputRequest


class ColumnReader(ABC):
    """Looks up columns of the inputs of one backend, and projects them.

    An input is what a query writer gives to `events()`. A column is text, which is its name or an expression in SQL, or
    what the backend has for a column; the planner passes both on without a look.
    """

    @abstractmethod
    def is_stream(self, df: Any) -> bool:
        """True if an input goes on without an end."""

    @abstractmethod
    def look_up(
        self, df: Any, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
    ) -> dict[str, InputColumn]:
        """Describe columns of an input by name; columns that are None are left out.

        Args:
            df: The input.
            columns: The columns by the names under which they are returned, such as `start`.
            readers: By the same names, the words for what reads each column, such as `join()`, for errors. For a column
                without such words, the name stands for them.

        Raises:
            QueryError: The input does not have one of them.
        """

    @abstractmethod
    def as_text(self, df: Any, column: ColumnLike) -> ColumnLike:
        """Cast a column of an input to text."""

    @abstractmethod
    def conjunction(self, conditions: Sequence[ColumnLike]) -> ColumnLike:
        """Make a column that says whether a row meets all conditions, of which there is at least one."""

    @abstractmethod
    def project(
        self,
        request: InputRequest,
        columns: Mapping[str, ColumnLike],
        identities: Mapping[str, str],
        scale: AxisScale,
    ) -> tuple[Any, ProjectedRows]:
        """Project the columns that a query reads; rows of heartbeats and clocks are among the rows of the input.

        Args:
            request: The input, with the condition on its rows, its heartbeats and its clock.
            columns: The columns by the names that they have in the projection.
            identities: By the same names, the identities of the columns that the query writer gave as text. Columns
                with equal identities are the same column. They become `ProjectedRows.column_texts`.
            scale: The meaning of the input's times.

        Returns:
            The projected rows, and the parts that they are made of.

        Raises:
            QueryError: The times of a heartbeat or a clock do not fit those of the input.
        """

    @abstractmethod
    def called_functions(self, df: Any) -> Iterable[Function[..., Any]]:
        """Return the registered functions that the expressions of projected rows call."""
