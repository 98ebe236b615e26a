"""Every evaluator that can run a query says what the reference says, whatever comes, and whatever goes wrong."""

from __future__ import annotations

import pytest

from tests.scenarios.drawing import FAMILIES, SEEDS, drawn


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
    drawn("upgraded", 194464643).check()
