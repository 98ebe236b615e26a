"""Every scenario through the public API in this process, over tables and as a job: what the reference says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, module
from tests.modules.members import Count
from tests.scenarios.drawing import FAMILIES, SEEDS, drawn
from tests.scenarios.frame_kinds import FRAME_MAKERS
from tests.scenarios.on_tables import check_job, check_on_tables
from tests.scenarios.scenario import Scenario

FRAME_KINDS: Final = list(FRAME_MAKERS)

ROWS: Final = pa.table({"at": [1, 2], "key": ["a", "b"], "x": [1, 2]})


def query_over_rows() -> Query:
    """Return a query that counts the rows in windows of ten ticks."""
    return events(ROWS, key="key", at="at").window(tumbling(10)).aggregate(n=module(Count))


REFUSED_CALLS: Final[Mapping[str, Callable[[], object]]] = {
    "watermark of results": lambda: query_over_rows().results("at"),
}
"""The calls that only Spark does so far. A test fails when one of them works: then take it out here."""


@pytest.mark.cases(99)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_query_over_tables_says_what_the_reference_says(family: str, seed: int, tmp_path: Path) -> None:
    """The kinds of tables take turns, from family to family and from seed to seed."""
    scenario = drawn(family, seed)
    turn = list(FAMILIES).index(family) + seed
    frame_kind = FRAME_KINDS[turn % len(FRAME_KINDS)]
    check_on_tables(scenario, seed, frame_kind, tmp_path)


@pytest.mark.cases(81)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"hostile"}))
def test_a_job_in_this_process_says_what_the_reference_says(family: str, seed: int) -> None:
    scenario = drawn(family, seed)
    assert isinstance(scenario, Scenario)
    check_job(scenario)


@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_a_call_that_only_spark_does_is_refused_here_with_these_words(call: str) -> None:
    with pytest.raises(QueryError, match="not yet without Spark"):
        REFUSED_CALLS[call]()
