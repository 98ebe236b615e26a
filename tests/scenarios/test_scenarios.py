"""Every evaluator that can run a query says what the reference says, whatever comes, and whatever goes wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_engine.evaluators.declarations.general import GENERAL
from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator
from tests.modules.members import Members
from tests.scenarios.drawing import FAMILIES, SEEDS, drawn
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario, with_evaluator


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_evaluator_says_what_the_reference_says(family: str, seed: int) -> None:
    drawn(family, seed).check()


def test_sessions_that_ended_do_not_come_back_with_the_entry_of_one_that_is_open() -> None:
    """A session ends while another of its batch is open; a process that reads their entry has the open one alone.

    771 776   777 780
     [-------)           ended, emitted
         [-----!---)     open at the watermark: no output lies before its start any more
    """
    seed_of_such_a_stream = 194464643
    drawn("upgraded", seed_of_such_a_stream).check()


def test_an_evaluator_that_is_not_registered_is_run_beside_the_others() -> None:
    query = Query(tumbling(5), (Members(),), lifetimes="intervals")
    stream = Script().insert("a", 1, 4, 2).insert("b", 4, 7, 3).close()
    with with_evaluator(replace(GENERAL, name="echo"), GeneralEvaluator()):
        assert next(iter(replace(query).evaluators)) == "echo"
        Scenario(query, stream).check()
    assert "echo" not in replace(query).evaluators
