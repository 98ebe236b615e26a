"""The computation of windows by a module."""

from __future__ import annotations

import gc
import weakref

from muntin import ClipPolicy
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.modules.binding import Binding
from tests.modules.members import Members


def test_a_computation_is_in_no_reference_cycle_so_that_it_is_freed_without_the_collector() -> None:
    """The engine turns the collector off during a micro-batch."""
    binding = Binding(Members())
    assert binding.plain is not None, "its results have to be made plain data, by a method of the computation"
    gc.disable()
    try:
        computation = weakref.ref(ModuleComputation(binding, ClipPolicy.NONE))
        assert computation() is None
    finally:
        gc.enable()
