"""The computation of windows by a module."""

from __future__ import annotations

import gc
import weakref

from muntin import ClipPolicy
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.modules.binding import Binding
from tests.modules.members import Members


def test_a_module_that_is_no_longer_called_is_freed_at_once() -> None:
    binding = Binding(Members())
    assert binding.plain is not None, "its results are not plain data as they are"
    computation = weakref.ref(ModuleComputation(binding, ClipPolicy.NONE))
    gc.disable()
    try:
        assert computation() is None, "the collector rests during a batch: nothing may be held by a cycle"
    finally:
        gc.enable()
