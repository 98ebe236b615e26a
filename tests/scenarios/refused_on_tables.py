"""What only Spark does so far: queries of scenarios, and calls, that are refused over tables in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from muntin import tumbling
from muntin_engine import EventStream, Query, events, final_rows, fold, module, net_changes, union
from muntin_engine.backends.choosing import backend_of
from tests.modules.members import Count
from tests.scenarios.join import Join
from tests.scenarios.passing import Passing
from tests.scenarios.query import Query as ScenarioQuery


def is_union(query: ScenarioQuery | Join) -> bool:
    """True if an input of a query is a union of several streams."""
    if isinstance(query, Passing):
        return query.united[0] > 1
    return max(query.united) > 1 if isinstance(query, Join) else len(query.sources) > 1


REFUSED_QUERIES: Final[Mapping[str, Callable[[ScenarioQuery | Join], bool]]] = {
    r"not yet without Spark: union\(\)": is_union,
}
"""By error, the queries that only Spark runs so far. A test fails when one of them runs: then take it out here."""

ROWS: Final = pa.table({"at": [1, 2], "key": ["a", "b"], "x": [1, 2]})


def stream(rows: Any = ROWS) -> EventStream:
    return events(rows, key="key", at="at")


def counts() -> Query:
    return stream().window(tumbling(10)).aggregate(n=module(Count))


REFUSED_CALLS: Final[Mapping[str, Callable[[], object]]] = {
    "union": lambda: union(a=stream(), b=stream()),
    "heartbeat": lambda: stream().with_heartbeat(ROWS, at="at").window(tumbling(2)).aggregate(n=module(Count)),
    "clock": lambda: backend_of(ROWS).inputs.clock(ROWS, 1),
    "fold": lambda: fold(ROWS),
    "net_changes": lambda: net_changes(ROWS),
    "final_rows": lambda: final_rows(ROWS, 3),
    "watermark of results": lambda: counts().results("at"),
}
"""The calls that only Spark does so far. A test fails when one of them works: then take it out here."""


def refusal_of(query: ScenarioQuery | Join) -> str | None:
    """Return the error of a query that only Spark runs so far; None for others."""
    for error, is_refused in REFUSED_QUERIES.items():
        if is_refused(query):
            return error
    return None
