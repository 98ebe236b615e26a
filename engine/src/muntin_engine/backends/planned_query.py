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
        column_texts: By its name in the projection, a text for each column that is a plain column of `df`. Columns with
            equal texts are the same column.
        condition: The condition that the rows of the query meet; None if the query reads all rows.
        marks: The rows of other streams among those of `df`, as of a heartbeat: each stream, and the columns that its
            rows have in the projection.
    """

    df: Frame
    columns: Mapping[str, Column]
    column_texts: Mapping[str, str]
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
            always: The names of further columns that stay without being selected. The columns that say what a row
                changes (`CHANGES`) always stay.
        """
        if not self.columns:
            return list(all_names)  # nothing is selected, so all columns stay
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
        inner: The inner queries whose results it reads itself; see `InputRequest`.
        is_named: True if it was given that name. It otherwise reports under one that differs by itself from those of
            other queries in the same query of Spark's; `batch_metrics` says what they are called.
        selection: The rows and columns of the results that it has.
        steps: The calls that made it.
        inner_id: The id of an inner query, whose results another query reads; empty for other queries. Its tasks find
            by the id the folder in which they record rows.
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
    inner_id: str = ""
    workers: int | None = None

    @property
    def source(self) -> Projection:
        """The first projected input. All have its session, its types of keys and times, and stream if it does."""
        return self.sources[0]

    @property
    def all_inner_queries(self) -> tuple[PlannedQuery, ...]:
        """All queries whose results this one reads, directly or not; each stands after the queries that it reads."""
        queries: list[PlannedQuery] = []
        for query in self.inner:
            queries += (*query.all_inner_queries, query)
        return tuple(queries)

    @property
    def inner_plans(self) -> tuple[Plan, ...]:
        """The plans of all inner queries."""
        return tuple(query.plan for query in self.all_inner_queries)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all inner queries, and the plan of this one as the last."""
        return (*self.inner_plans, self.plan)

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
