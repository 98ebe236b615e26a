"""Evaluation over slices says what the reference says, for windows of every ratio, on random streams.

Point events lie in one slice each; events with lifetimes belong to a range of windows. Each stream arrives in any legal
order, cut into micro-batches anywhere, with restarts between some, on up to three tasks; some batches fail after they
were evaluated, and are run again. A failure prints the smallest stream that fails.
"""

from __future__ import annotations

import pytest

from muntin import HoppingWindows, hopping, tumbling
from tests.differential.drive import check
from tests.differential.forms import FORMS
from tests.differential.slices import SliceCase, run

WINDOWS = {
    "tumbling": tumbling(8),
    "one tick": tumbling(1),
    "wide": tumbling(50),
    "offset": tumbling(7, 3),
    "twice": hopping(10, 5),
    "overlapping": hopping(10, 3),
    "overlapping by much": hopping(13, 1, -5),
    "nine by six": hopping(9, 6),
    "gaps": hopping(4, 9, 1),
    "gaps of whole slices": hopping(4, 12),
}


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("window", WINDOWS)
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, forms: str, is_point: bool) -> None:
    for number in range(3):
        case = SliceCase((WINDOWS[window],), forms, is_point, number)
        check(case, case.stream, run)


@pytest.mark.parametrize(
    "windows",
    [
        (tumbling(6), tumbling(10)),
        (hopping(9, 6), tumbling(4, 1), hopping(3, 7, -2)),
        (hopping(20, 5), hopping(5, 5), hopping(10, 5, 5)),
        (tumbling(30), tumbling(1)),
    ],
    ids=str,
)
def test_several_windows_share_their_slices(windows: tuple[HoppingWindows, ...]) -> None:
    for number in range(6):
        case = SliceCase(windows, "all", True, number)
        check(case, case.stream, run)
