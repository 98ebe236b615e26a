"""Memory that was freed, handed back to the system: allocators keep it for whatever comes next, process by process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa


def hand_back_freed_memory() -> None:
    """Hand back the memory that is free in this process.

    Cost: about a millisecond, and the system clears the pages once more when they are needed again.
    """
    pa.default_memory_pool().release_unused()
    trim = _trim_of_c()
    if trim is not None:
        trim(0)


@cache
def _trim_of_c() -> Callable[[int], int] | None:
    """Return the function by which glibc hands back free memory; None where the C library is another one."""
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
