"""Calls of a module for windows in turn: which one runs, and which one failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from muntin import Aggregate, Window
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.keyed.called_windows import CalledWindows
from muntin_engine.evaluators.keyed.module_calls import MethodCalls
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL

STARTS = np.array([0, 10, 20], np.int64)
WINDOWS = CalledWindows(pa.table({"k0": ["a", "b", "c"]}), ["k0"], STARTS, STARTS + 10)
"""A window of ten ticks for each of three keys."""

KEYS_AND_EXTENTS = [(("a",), Window(0, 10)), (("b",), Window(10, 20)), (("c",), Window(20, 30))]


class Largest(Aggregate[int, int]):
    """The largest payload."""

    name, version = "test.largest", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        """Return the largest payload."""
        return max(payloads)


class RecordedWindows:
    """A trace of calls, which remembers the windows that are recorded in it."""

    def __init__(self) -> None:
        self.windows: list[tuple[object, Window]] = []

    def set_module(self, label: str) -> None:
        """Ignore the module."""

    def set_window(self, key: object, window: Window) -> None:
        """Remember a window."""
        self.windows.append((key, window))


@pytest.fixture(autouse=True)
def no_call_before_and_after() -> Iterator[None]:
    CURRENT_CALL.begin_task(None)
    yield
    CURRENT_CALL.begin_task(None)


def call_for_windows(compute: Callable[[list[int]], int], payloads: list[list[int]]) -> list[int]:
    """Call a method of a module for each of the three windows, and return its results."""
    calls = MethodCalls(Binding(Largest()), None)
    return calls.call_for_each("compute_result", WINDOWS, compute, payloads)


def test_during_each_call_the_current_window_is_that_of_the_call() -> None:
    located: list[object] = []

    def compute(payloads: list[int]) -> int:
        located.append(CURRENT_CALL.located())
        return max(payloads)

    assert call_for_windows(compute, [[1], [3, 2], [4]]) == [1, 3, 4]
    assert located == KEYS_AND_EXTENTS
    assert CURRENT_CALL.located() == KEYS_AND_EXTENTS[-1], "after the last call its window stays"


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), SystemExit(2)])
def test_a_failure_names_the_key_and_the_window_of_its_call(error: BaseException) -> None:
    def compute(payloads: list[int]) -> int:
        if payloads == [2]:
            raise error
        return max(payloads)

    with pytest.raises(ModuleFailedError) as failure:
        call_for_windows(compute, [[1], [2], [3]])
    assert "key: ('b',)" in str(failure.value)
    assert "window: Window(start=10, end=20)" in str(failure.value)
    assert CURRENT_CALL.located() == KEYS_AND_EXTENTS[1]


def test_if_there_is_a_trace_each_window_is_recorded_before_its_call() -> None:
    trace = RecordedWindows()
    CURRENT_CALL.begin_task(trace)
    windows_so_far: list[int] = []

    def compute(payloads: list[int]) -> int:
        windows_so_far.append(len(trace.windows))
        return max(payloads)

    call_for_windows(compute, [[1], [2], [3]])
    assert windows_so_far == [1, 2, 3]
    assert trace.windows[:3] == KEYS_AND_EXTENTS  # after the calls, the last window is recorded again
