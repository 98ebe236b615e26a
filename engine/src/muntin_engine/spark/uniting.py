"""The projected inputs of a query as one DataFrame, which the tasks of the map side take apart again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin_engine.exchange.shuffle import SIDE, shared_name

if TYPE_CHECKING:
    from muntin_engine.api.planned_query import Projection


def united(sources: Sequence[Projection]) -> DataFrame:
    """Return the rows of all inputs; those of the only one as they are."""
    if len(sources) == 1:
        return sources[0].df
    sides = [
        source.df.select(
            F.lit(side).alias(SIDE), *(F.col(name).alias(shared_name(side, name)) for name in source.df.columns)
        )
        for side, source in enumerate(sources)
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), sides)
