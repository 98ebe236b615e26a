"""A planned query as plain data, which everything that runs it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from muntin import LatePolicy
from muntin.errors import QueryError
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.steps import Step

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from muntin_engine.plan.request import ColumnLike, Frame

CHANGES: Final = ("change", "event_id", "new_end", "timing", "firing")
"""The columns of changes, which `select` keeps."""


@dataclass(frozen=True)
class ProjectedRows:
    """The parts that a projection is made of, so that one DataFrame can hold the columns of several queries.

    Attributes:
        df: The DataFrame that the query writer gave.
        columns: The columns by their names in the projection.
        named: What identifies those that only name a column of `df`: columns of equal texts are equal.
        condition: The condition that the rows of the query meet; None if all rows are its own.
        marks: Rows of other streams among them: each a stream, and the columns that its rows have.
    """

    df: Frame
    columns: Mapping[str, Column]
    named: Mapping[str, str]
    condition: ColumnLike | None
    marks: tuple[tuple[Frame, Mapping[str, Column]], ...] = ()


@dataclass(frozen=True)
class Projection:
    """The columns of one input that a query reads.

    Attributes:
        df: The columns `start`, the keys `k0`, `k1`, ... and the inputs `i0`, `i1`, ...; `end`, `id`, `change`,
            `new_end` and `signal` if the query names them; and `kept`, whether a row meets the conditions, if there
            are any.
        times: The Arrow type of the starts.
        keys: The Arrow types in which the keys travel.
        inputs: The Arrow types in which the inputs travel.
        has_changes: True if there is a column `change`, of the query's or because rows of other streams are in it.
        rows: The parts that it is made of.
        id: The Arrow type in which ids travel; None if the query names none.
    """

    df: Frame
    times: pa.DataType
    keys: tuple[pa.DataType, ...]
    inputs: tuple[pa.DataType, ...]
    has_changes: bool
    rows: ProjectedRows
    id: pa.DataType | None = None


@dataclass(frozen=True)
class Selection:
    """The part of the results that a query has: some rows, and some columns or what is made of them.

    Attributes:
        columns: By name, expressions of Spark's over the results; empty for all columns.
        condition: A condition on the results; None for all rows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    condition: str | None = None

    def names(self, all_names: Sequence[str], always: tuple[str, ...] = ()) -> list[str]:
        """Return the names of the columns of selected results: the selected ones, then those that always stay.

        Args:
            all_names: The names of all columns of the results.
            always: Names of columns that stay though they are not selected, besides the columns of changes.
        """
        if not self.columns:
            return list(all_names)
        names = list(self.columns)
        for name in (*CHANGES, *always):
            if name in all_names and name not in self.columns:
                names.append(name)
        return names


@dataclass(frozen=True, repr=False)
class PlannedQuery:
    """A query that can run.

    Attributes:
        sources: The projected inputs.
        plan: What will be evaluated, and how.
        metrics_name: The name of a streaming query in its metrics (see `Query.results`).
        is_timed: True if it reports how long its stages and modules take.
        inner: The queries whose results it reads; see `InputRequest`.
        is_named: True if it was given that name. It otherwise reports under one that differs by itself from those of
            other queries in the same query of Spark's; `batch_metrics` says what they are called.
        selection: The rows and columns of the results that it has.
        steps: The calls that made it.
        place_name: The name by which its tasks find where they record, if another query reads its results.
        workers: The number of processes that evaluate it where Spark does not; None for the cores of this process.
    """

    sources: tuple[Projection, ...]
    plan: Plan
    metrics_name: str = "muntin"
    is_timed: bool = True
    inner: tuple[PlannedQuery, ...] = ()
    is_named: bool = False
    selection: Selection = Selection()
    steps: tuple[Step, ...] = ()
    place_name: str = ""
    workers: int | None = None

    @property
    def source(self) -> Projection:
        """The first projected input. All have its session, its types of keys and times, and stream if it does."""
        return self.sources[0]

    @property
    def before(self) -> tuple[PlannedQuery, ...]:
        """All queries whose results this one reads, directly or not; each stands after the queries that it reads."""
        queries: list[PlannedQuery] = []
        for query in self.inner:
            queries += (*query.before, query)
        return tuple(queries)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of the queries before this one, and the plan of this one."""
        return (*(query.plan for query in self.before), self.plan)

    def with_late_rows(self) -> Self:
        """Return the query with late rows kept as they are: an evaluator that merges rows would else only count them.

        Raises:
            QueryError: The query drops late rows.
        """
        if all(source.late.policy is LatePolicy.DROP for source in self.plan.inputs):
            raise QueryError(
                "late rows are dropped, so there are none to return: give events() late_policy='side' to have them"
            )
        return replace(self, plan=replace(self.plan, keeps_late_rows=True))
