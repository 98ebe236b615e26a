"""Every scenario through the public API in this process, over tables and as a job: what the reference says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from muntin.errors import QueryError
from tests.scenarios.drawing import FAMILIES, SEEDS, drawn
from tests.scenarios.frame_kinds import FRAME_MAKERS
from tests.scenarios.on_tables import check_job, check_on_tables
from tests.scenarios.refused_on_tables import REFUSED_CALLS, refusal_of
from tests.scenarios.scenario import Scenario

FRAME_KINDS: Final = list(FRAME_MAKERS)


@pytest.mark.cases(99)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_query_over_tables_says_what_the_reference_says(family: str, seed: int, tmp_path: Path) -> None:
    scenario = drawn(family, seed)
    frame_kind = FRAME_KINDS[(list(FAMILIES).index(family) + seed) % len(FRAME_KINDS)]
    refusal = refusal_of(scenario.query)
    if refusal is not None:
        with pytest.raises(QueryError, match=refusal):
            check_on_tables(scenario, seed, frame_kind, tmp_path)
        return
    check_on_tables(scenario, seed, frame_kind, tmp_path)


@pytest.mark.cases(81)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"hostile"}))
def test_a_job_in_this_process_says_what_the_reference_says(family: str, seed: int) -> None:
    scenario = drawn(family, seed)
    assert isinstance(scenario, Scenario)
    refusal = refusal_of(scenario.query)
    if refusal is not None:
        with pytest.raises(QueryError, match=refusal):
            check_job(scenario)
        return
    check_job(scenario)


@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_a_call_that_only_spark_does_says_so(call: str) -> None:
    with pytest.raises(QueryError, match="not yet without Spark"):
        REFUSED_CALLS[call]()
