"""Every evaluator that can run a query says what the reference says, whatever comes, and whatever goes wrong."""

from __future__ import annotations

import pytest

from tests.scenarios.drawing import FAMILIES, drawn


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("family", FAMILIES)
def test_every_evaluator_says_what_the_reference_says(family: str, seed: int) -> None:
    drawn(family, seed).check()
