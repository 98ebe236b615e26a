"""The question to every system: an aggregate of the values over windows of each key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.data import USUAL, Pace
from benchmarks.windows import (
    Aggregate,
    Band,
    Calendar,
    Hopping,
    HotKey,
    LastingHops,
    LastRows,
    Nexmark,
    Session,
    Snapshot,
    Tilt,
    Together,
    Views,
    Windows,
)

_KINDS: Final[dict[str, type[Windows]]] = {
    kind.__name__: kind
    for kind in (
        Hopping,
        Session,
        Calendar,
        LastRows,
        Snapshot,
        Band,
        Nexmark,
        Tilt,
        Together,
        LastingHops,
        HotKey,
        Views,
    )
}


@dataclass(frozen=True, slots=True)
class Question:
    """An aggregate over windows of a stream.

    Attributes:
        aggregate: What is computed of `value`.
        windows: Over which rows.
        pace: Of the stream.
    """

    aggregate: Aggregate
    windows: Windows
    pace: Pace = USUAL

    @property
    def delay(self) -> int:
        """The input is complete up to so many seconds before its newest time."""
        return self.pace.delay

    def as_data(self) -> dict[str, Any]:
        """Return the question as JSON-able data."""
        return asdict(self) | {"kind": type(self.windows).__name__}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Question:
        """Return the question that data is of."""
        return cls(data["aggregate"], _KINDS[data["kind"]](**data["windows"]), Pace(**data["pace"]))
