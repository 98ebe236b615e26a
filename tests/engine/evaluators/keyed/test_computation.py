"""The computation of windows by a module."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence

from muntin import Aggregate, ClipPolicy
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.modules.binding import Binding


class Members(Aggregate[int, list[int]]):
    """All payloads, in a list that becomes plain data."""

    name, version = "test.members", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        """Return the payloads."""
        return list(payloads)


def test_a_module_that_is_no_longer_called_is_freed_at_once() -> None:
    binding = Binding(Members())
    assert binding.plain is not None, "its results are not plain data as they are"
    computation = weakref.ref(ModuleComputation(binding, ClipPolicy.NONE))
    gc.disable()
    try:
        assert computation() is None, "the collector rests during a batch: nothing may be held by a cycle"
    finally:
        gc.enable()
