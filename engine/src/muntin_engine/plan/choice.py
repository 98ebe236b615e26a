"""The evaluator of a query, and the reason for the choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of an evaluator.

    Attributes:
        evaluator: The name of the cheapest one that is right, or of the one that was asked for.
        reason: Why not a cheaper one, or why this one.
        uses_forms: True if it computes with the columnar forms of the modules, and its state holds their components.
    """

    evaluator: str
    reason: str
    uses_forms: bool = False


OPEN: Final = Choice("", "not chosen yet")
"""The choice of a plan that the planner has not seen."""
