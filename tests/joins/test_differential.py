"""Joins of random streams emit what the definition says, after each micro-batch."""

from __future__ import annotations

import pytest

from tests.joins.drive import run_join


@pytest.mark.parametrize("seed", range(60))
def test_a_join_emits_what_its_definition_says(seed: int) -> None:
    run_join(seed)
