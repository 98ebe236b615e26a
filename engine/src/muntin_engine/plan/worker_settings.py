"""The settings of a query's workers."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.modules.stream_operator import MOST_WAKE_UPS
from muntin_engine.state.key_patterns import MOST_PATTERNS
from muntin_engine.state.store_cache import CACHE_BYTES


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of a query's workers.

    Attributes:
        cache_bytes: The bytes of the cache of each worker: of the stores that it keeps between micro-batches.
        traces_folder: The folder of the workers' traces; empty for no traces.
        most_wake_ups: The most wake-ups that an operator may have of a key in a micro-batch, besides one per event.
        most_patterns: The most patterns of keys that are complete beyond the watermark.
        overflow_fails: True if a result that its column cannot hold fails the micro-batch; otherwise it is null.
    """

    cache_bytes: int = CACHE_BYTES
    traces_folder: str = ""
    most_wake_ups: int = MOST_WAKE_UPS
    most_patterns: int = MOST_PATTERNS
    overflow_fails: bool = False
