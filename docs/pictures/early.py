"""Early results of a window, and what the later do to the earlier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.pictures.picture import Picture
from docs.pictures.runs import first_column, inputs, outputs, play
from muntin import Refinement, early, tumbling
from muntin.drawings import Bar
from muntin.testing import Script
from muntin.triggers import every_count
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_stats import Sum

ORDERS: Final = (
    Script()
    .point("a", 4, 20)
    .point("b", 14, 30)
    .batch()
    .point("c", 26, 25)
    .point("d", 38, 10)
    .batch()
    .point("e", 52, 15)
    .punctuate(60)
)


def pictures() -> Iterator[Picture]:
    """Yield one picture of all refinements."""
    rows: list[Bar | str] = ["orders that come", *inputs(ORDERS)]
    for refinement in Refinement:
        emit = early(every_count(2), refinement=refinement)
        query = EvaluatorQuery(tumbling(60), (Binding(Sum(), first_column),), emit=emit, has_ids=False)
        rows += [f"refinement={str(refinement)!r}", *outputs(play(query, ORDERS))]
    title = "sums of orders in an hour, emitted after every two orders and at the end"
    yield Picture("early", title, rows, tuple(Refinement))
