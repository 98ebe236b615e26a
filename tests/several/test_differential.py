"""A module with several inputs gets the events of each of them that live in a window, by definition."""

from __future__ import annotations

import pytest

from tests.several.drive import check


@pytest.mark.parametrize("seed", range(6))
def test_results_are_those_of_each_inputs_events_in_a_window(seed: int) -> None:
    check(seed)
