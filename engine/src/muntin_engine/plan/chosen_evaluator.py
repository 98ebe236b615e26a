"""The choice of an evaluator, which says all that anyone asks of it later, and what a query on arrays is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from muntin_engine.time.slice_grid import SliceGrid


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
        gap: The number of ticks from the last tick of an event to the end of its stretch: the gap of sessions, else 1.
        slides: True if stretches hold rows, and the state of a window is made from that of the window before it, by
            adding and removing rows.
        grids: The grid of each specification of windows, all with the same slices; empty where windows have no grid.
    """

    geometry: Geometry
    arrivals: Arrivals
    held: Held
    gap: int = 1
    slides: bool = False
    grids: tuple[SliceGrid, ...] = ()

    def identity(self) -> dict[str, str]:
        """Return the parts as plain data, which a checkpoint stores: its state can be read without the query."""
        return {"geometry": str(self.geometry), "arrivals": str(self.arrivals), "held": str(self.held)}

    @property
    def is_on_grid(self) -> bool:
        """True if windows lie on a regular grid, and stretches are slices of this grid or runs of slices."""
        return self.geometry in (Geometry.SLICES, Geometry.RUNS)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The evaluation of a query in words.

    Attributes:
        row: The cost of a row.
        state: The state that is kept between micro-batches, and its bound.
        modules: The computation of each module, and the reason for it.
        output: The time at which the output is complete. Empty for a query with windows: their kind says so.
        lag: The distance of the output's watermark behind the input's. Empty for a query with windows.
    """

    row: str
    state: str
    modules: tuple[str, ...] = ()
    output: str = ""
    lag: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of an evaluator.

    It repeats what the evaluator declares, so that nobody who has a plan asks for the declaration again.

    Attributes:
        evaluator: The name of the cheapest one that is right, or of the one that was asked for.
        reason: Why not a cheaper one, or why this one.
        arrays: The parts of the query, if the evaluator works on arrays of stretches.
        lifts: True if map tasks turn rows into blobs of the evaluator; otherwise buckets get the rows themselves.
        lifts_in_buckets: True if buckets keep rows, and compute results of these with columnar forms.
        keeps_state: False if each task has the results of its rows, so that there are neither buckets nor a shuffle.
        unreported: The metrics that the evaluator cannot report.
        explanation: The evaluation of the query in words; None as long as nothing is chosen.
    """

    evaluator: str
    reason: str
    arrays: ArrayPlan | None = None
    lifts: bool = False
    lifts_in_buckets: bool = False
    keeps_state: bool = True
    unreported: frozenset[str] = frozenset()
    explanation: Explanation | None = None

    @property
    def holds_components(self) -> bool:
        """True if its state holds the components of columnar forms."""
        return self.arrays is not None and self.arrays.held is Held.COMPONENTS

    @property
    def uses_forms(self) -> bool:
        """True if it computes with the columnar forms of the modules."""
        return self.holds_components or self.lifts_in_buckets

    @property
    def names_late_rows(self) -> bool:
        """True if a bucket has each late row itself, and so its source; a partial state only counts its rows."""
        has_ids = self.arrays is not None and self.arrays.arrivals is Arrivals.IDENTIFIED
        return has_ids or not self.lifts


OPEN: Final = Choice("", "not chosen yet")
"""The choice of a plan that the planner has not seen."""
