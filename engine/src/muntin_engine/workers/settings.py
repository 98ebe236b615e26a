"""How the workers of a query look after themselves."""

from __future__ import annotations

from dataclasses import dataclass

from muntin_engine.state.kept_stores import MOST_BYTES


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the workers of a query look after themselves.

    Attributes:
        kept_bytes: How much decoded state each keeps.
        watchdog_seconds: After how many seconds in one call of a module the watchdog says so; 0 for no watchdog.
        watchdog_fails: True if it then fails the micro-batch.
        folder: Where workers leave traces of what runs; none if it is empty.
    """

    kept_bytes: int = MOST_BYTES
    watchdog_seconds: float = 0.0
    watchdog_fails: bool = False
    folder: str = ""
