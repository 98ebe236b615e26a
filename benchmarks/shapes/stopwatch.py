"""A stopwatch for CPU time."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import process_time
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 2.0
"""After so many seconds of processor time, something is not run once more."""


def cpu_seconds(work: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Return the least processor time of some runs, and the result: what others do on the machine only ever adds."""
    times: list[float] = []
    while True:
        gc.collect()
        start = process_time()
        result = work()
        times.append(process_time() - start)
        if len(times) == repeats or sum(times) > PATIENCE:
            return min(times), result
