"""The evaluator of a query, the reason for the choice, and what a query on arrays is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Geometry(StrEnum):
    """The stretches of the axis that rows become, and so how these become windows."""

    SLICES = "slices"
    """A point is merged into its slice; windows are runs of slices, or grow slice by slice."""

    RUNS = "runs of slices"
    """An event is merged into the run of slices that it overlaps."""

    SESSIONS = "sessions"
    """Stretches of a key that overlap or touch are fused."""

    SNAPSHOTS = "snapshots"
    """Each event is a stretch; windows lie between neighbouring edges of a key."""


class Arrivals(StrEnum):
    """The rows that are taken in."""

    INSERTIONS = "insertions"
    """Each row is a new event: the map side lifts it, and the bucket decides whether it is late."""

    IDENTIFIED = "events with ids"
    """Rows insert and revise events that have ids: the bucket admits them, and lifts them then."""


class Held(StrEnum):
    """The values of stretches."""

    COMPONENTS = "components of forms"
    STATES = "Python states"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class ArrayPlan:
    """The parts that evaluation of a query on arrays is made of.

    Attributes:
        geometry: The stretches of the axis that rows become.
        arrivals: The rows that are taken in.
        held: The values of stretches.
        gap: An event counts until so many ticks after its last one, where stretches are ticks: 1 unless a session has a
            longer gap.
    """

    geometry: Geometry
    arrivals: Arrivals
    held: Held
    gap: int = 1

    @property
    def is_on_grid(self) -> bool:
        """True if windows have numbers, and stretches are counted in these, or in slices of them."""
        return self.geometry in (Geometry.SLICES, Geometry.RUNS)


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of an evaluator.

    Attributes:
        evaluator: The name of the cheapest one that is right, or of the one that was asked for.
        reason: Why not a cheaper one, or why this one.
        uses_forms: True if it computes with the columnar forms of the modules, and its state holds their components.
        arrays: The parts of the query, if the evaluator works on arrays of stretches.
    """

    evaluator: str
    reason: str
    uses_forms: bool = False
    arrays: ArrayPlan | None = None


OPEN: Final = Choice("", "not chosen yet")
"""The choice of a plan that the planner has not seen."""
