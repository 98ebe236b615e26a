"""A plugin's kinds of windows on random streams with revisions, ties and restarts, against the oracle."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from muntin import window
from tests.retail.test_kinds import KINDS
from tests.scenarios.drawing import cutting
from tests.scenarios.inputs import early

pytestmark = pytest.mark.usefixtures("_retail")


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", KINDS)
def test_the_output_is_that_of_the_reference(name: str, seed: int) -> None:
    draw = early if seed % 4 == 3 else cutting
    windows: Any = {name: window(name, **KINDS[name])}
    draw(Random(f"{name} {seed}"), windows).check()
