"""What `explain()` says of costs that grow: with the micro-batches, with the stream, with the values in a state."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import global_windows, hopping, landmark
from muntin_stats import ApproximateMedian, Average, Median, Mode
from tests.plan.plans import planned
from tests.plan.test_explanation import Sketch, Whole, line
from tests.spark.modules import Count, Members


class Listing(Sketch):
    name = "show.listing"
    state_bytes = None  # type: ignore[assignment]  # nobody knows


def test_a_row_that_slides_costs_something_in_each_micro_batch_that_closes_windows_of_it() -> None:
    slides = "a constant in each micro-batch that closes windows that it is a member of, however many these are"
    assert line("row", planned(Count), window=hopping(99, 3)) == slides
    of_each = "a constant for each window that it is a member of"
    assert line("row", planned(Members), window=hopping(9, 3), wanted="general") == of_each
    told = line("module", planned(Count), window=hopping(99, 3))
    assert told.endswith("a micro-batch closes, and is built anew in the next one")


@pytest.mark.parametrize("window", [landmark(9), global_windows()], ids=str)
def test_windows_that_no_event_leaves_keep_all(window: Any) -> None:
    assert line("state", planned(Count), window=window).startswith("all events, as none ever leaves its windows, in")
    assert line("state", planned(Count), window=hopping(99, 3)).startswith("the events of open windows, in")


@pytest.mark.parametrize("module", [Whole, Sketch, Average, ApproximateMedian], ids=lambda module: module.name)
@pytest.mark.parametrize("wanted", [None, "sliced"])
def test_a_state_is_bounded_if_its_type_its_components_or_its_module_say_so(module: Any, wanted: str | None) -> None:
    assert "; a state has a bounded size; a batch" in line("state", planned(module), wanted=wanted)


@pytest.mark.parametrize("module", [Listing, Median, Mode], ids=lambda module: module.name)
def test_a_holistic_state_may_grow_with_its_values(module: Any) -> None:
    """A function is holistic if no constant bounds its sub-aggregates (thesis, section 6.2.2.1), as a median is."""
    told = line("state", planned(Whole, "total"), planned(module))
    assert f"; a state of {module.name} {module.version} may grow with its values; a batch" in told
