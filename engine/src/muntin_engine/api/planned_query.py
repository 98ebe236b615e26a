"""A planned query as plain data, which everything that runs it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Projection:
    """The columns of one input that a query reads.

    Attributes:
        df: The columns `start`, the keys `k0`, `k1`, ... and the inputs `i0`, `i1`, ...; `end`, `id`, `change`,
            `new_end` and `signal` if the query names them; `kept`, whether a row meets the conditions, if there are
            any; and `bucket`, the number of the row's bucket.
        keys: The Arrow types in which the keys travel.
        inputs: The Arrow types in which the inputs travel.
        has_changes: True if there is a column `change`, of the query's or because rows of other streams are in it.
    """

    df: DataFrame
    keys: tuple[pa.DataType, ...]
    inputs: tuple[pa.DataType, ...]
    has_changes: bool = False


@dataclass(frozen=True, repr=False)
class PlannedQuery:
    """A query that can run.

    Attributes:
        sources: The projected inputs.
        plan: What will be evaluated, and how.
        metrics_name: The name of a streaming query in its metrics (see `Query.results`).
        is_timed: True if it reports how long its stages and modules take.
        inner: The plans of the queries whose results are its input, the first one first.
        is_named: True if it was given that name. It otherwise reports under one that differs by itself from those of
            other queries in the same query of Spark's; `batch_metrics` says what they are called.
    """

    sources: tuple[Projection, ...]
    plan: Plan
    metrics_name: str = "muntin"
    is_timed: bool = True
    inner: tuple[Plan, ...] = ()
    is_named: bool = False

    @property
    def source(self) -> Projection:
        """The first projected input. All have its session, its types of keys and times, and stream if it does."""
        return self.sources[0]
