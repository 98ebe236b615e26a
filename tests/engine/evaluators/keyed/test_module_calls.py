"""Calls of a module for windows in turn: which one runs, and which one failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from muntin import Aggregate, Window
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.keyed.called_windows import CalledWindows
from muntin_engine.evaluators.keyed.module_calls import MethodCalls
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.current_call import CURRENT_CALL

WINDOWS = CalledWindows(
    pa.table({"k0": ["a", "b", "c"]}), ["k0"], np.array([0, 10, 20], np.int64), np.array([10, 20, 30], np.int64)
)
EXTENTS = [(("a",), Window(0, 10)), (("b",), Window(10, 20)), (("c",), Window(20, 30))]


class Largest(Aggregate[int, int]):
    """The largest payload."""

    name, version = "test.largest", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        """Return the largest payload."""
        return max(payloads)


class Trace:
    """Remembers the windows that are recorded."""

    def __init__(self) -> None:
        self.recorded: list[tuple[object, Window]] = []

    def set_module(self, label: str) -> None:
        """Forget the module."""
        del label

    def set_window(self, key: object, window: Window) -> None:
        """Remember a window."""
        self.recorded.append((key, window))


@pytest.fixture(autouse=True)
def task() -> Iterator[None]:
    CURRENT_CALL.begin_task(None)
    yield
    CURRENT_CALL.begin_task(None)


def calls() -> MethodCalls:
    return MethodCalls(Binding(Largest()), None)


def test_the_window_of_a_call_follows_from_the_number_of_results() -> None:
    during: list[object] = []

    def compute(payloads: list[int]) -> int:
        during.append(CURRENT_CALL.located())
        return max(payloads)

    assert calls().call_for_each("compute_result", WINDOWS, compute, [[1], [3, 2], [4]]) == [1, 3, 4]
    assert during == EXTENTS
    assert CURRENT_CALL.located() == EXTENTS[-1]


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), SystemExit(2)])
def test_a_failure_names_the_window_of_its_call(error: BaseException) -> None:
    def compute(payloads: list[int]) -> int:
        if payloads == [2]:
            raise error
        return max(payloads)

    with pytest.raises(ModuleFailedError) as failure:
        calls().call_for_each("compute_result", WINDOWS, compute, [[1], [2], [3]])
    assert "key: ('b',)" in str(failure.value)
    assert "window: Window(start=10, end=20)" in str(failure.value)
    assert CURRENT_CALL.located() == EXTENTS[1]


def test_each_window_is_recorded_before_its_call_where_there_is_a_trace() -> None:
    trace = Trace()
    CURRENT_CALL.begin_task(trace)
    recorded_before: list[int] = []

    def compute(payloads: list[int]) -> int:
        recorded_before.append(len(trace.recorded))
        return max(payloads)

    calls().call_for_each("compute_result", WINDOWS, compute, [[1], [2], [3]])
    assert recorded_before == [1, 2, 3]
    assert trace.recorded[:3] == EXTENTS
