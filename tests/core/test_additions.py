"""How often rows are added to states: what `explain()` says of the cost of a row. Calls are counted, not timed.

A thousand rows, one at each tick, come ten to a micro-batch; each micro-batch closes a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from muntin import EARLIEST, cumulate, hopping, landmark
from muntin.windows import WindowSpecification
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.build import RunningTotal
from tests.plan.plans import plan_of, planned

ROWS = 1_000
AT_ONCE = 10


class Merged(RunningTotal):
    """Counts also how often two states are combined, or one is taken out of another."""

    name = "test.merged"

    def __init__(self) -> None:
        super().__init__()
        self.combined = self.deducted = 0

    def combine(self, state: int, other: int) -> int:
        self.combined += 1
        return state + other

    def deduct(self, state: int, other: int) -> int:
        self.deducted += 1
        return state - other


def counted(cls: type[RunningTotal], window: WindowSpecification, evaluator: str) -> Any:
    """Return a module after the rows, in a process that lives as long as they come."""
    plan = plan_of(planned(cls), window=window, axis="ticks", wanted=evaluator)
    process = BY_NAME[evaluator].in_memory(plan, MemoryCells(), Codec())
    for first in range(0, ROWS, AT_ONCE):
        rows: Sequence[Any] = [(("k",), InputChange(None, at, at + 1, (at,))) for at in range(first, first + AT_ONCE)]
        process.take(rows, Progress(first + AT_ONCE, first + AT_ONCE, first + AT_ONCE - 1, EARLIEST))
    return plan.modules[0].module


def test_over_slices_a_row_costs_a_constant_though_each_micro_batch_closes_a_window_of_fifty() -> None:
    """A row is added once; its state is merged into that of its slice, and a slice is merged, and deducted."""
    module = counted(Merged, hopping(500, AT_ONCE), "sliced")
    assert module.added == ROWS
    assert module.combined + module.deducted < 1.2 * ROWS


@pytest.mark.parametrize(("window", "additions"), [(hopping(500, AT_ONCE), 37_750), (landmark(AT_ONCE), 50_500)])
def test_from_its_events_a_state_is_built_anew_in_each_micro_batch_that_closes_a_window(
    window: WindowSpecification, additions: int
) -> None:
    module = counted(RunningTotal, window, "general")
    assert (module.added, module.removed, module.built) == (additions, 0, ROWS // AT_ONCE)


@pytest.mark.parametrize("window", [landmark(AT_ONCE), cumulate(10 * AT_ONCE, AT_ONCE)])
def test_windows_that_grow_carry_one_state(window: WindowSpecification) -> None:
    """A row is added once; each slice is merged into the window that it makes, and into what is carried."""
    module = counted(Merged, window, "sliced")
    assert module.added == ROWS
    assert module.combined < 1.2 * ROWS
