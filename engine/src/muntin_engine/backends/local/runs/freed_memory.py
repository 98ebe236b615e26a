"""Memory that was freed, handed back to the system: allocators keep it for whatever comes next, process by process."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa


def hand_back_freed_memory() -> None:
    """Return to the system the memory that allocators of this process hold and do not use.

    Cost: about a millisecond. Memory that is needed again has to be cleared by the system before it is used.
    """
    pa.default_memory_pool().release_unused()
    trim = _trim_of_c()
    if trim is not None:
        trim(0)  # hold back no bytes for later allocations


@cache
def _trim_of_c() -> Callable[[int], int] | None:
    """Return the function by which glibc hands back free memory; None where the C library is another one."""
    if sys.platform != "linux":
        return None
    trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim
