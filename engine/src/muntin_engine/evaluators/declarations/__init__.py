"""The declarations of evaluators: the queries that each runs, as data, and their evaluation in words.

Only plans are read here, so planning a query loads neither NumPy nor Arrow. `tasks.evaluator_registry` runs queries.
"""

from __future__ import annotations

from typing import Final

from muntin.errors import PolicyError
from muntin_engine.evaluators.declarations.arrays import COLUMNAR, GROUPED, SLICED
from muntin_engine.evaluators.declarations.general import GENERAL
from muntin_engine.evaluators.declarations.joins import JOINING, PAIRING, PASSING
from muntin_engine.evaluators.declarations.ordered import EVENT_BY_EVENT, IN_ORDER, STATELESS
from muntin_engine.evaluators.declarations.ranked import RANKED, SLIDING
from muntin_engine.plan.evaluator_declaration import Declaration

DECLARATIONS: Final[tuple[Declaration, ...]] = (
    COLUMNAR,
    SLICED,
    GROUPED,
    GENERAL,
    RANKED,
    SLIDING,
    IN_ORDER,
    STATELESS,
    EVENT_BY_EVENT,
    PASSING,
    PAIRING,
    JOINING,
)
"""The declarations of all evaluators, the cheapest first.

`general` runs any window that cuts the axis, and `in_order` any window of rows; some of these windows have cheaper
evaluators, which come before. The evaluators after `in_order` are for queries without windows.
"""


def parse_evaluator(value: str) -> str | None:
    """Return the name of an evaluator as a query gives it; None for `"auto"`.

    Raises:
        PolicyError: There is no such evaluator.

    Example:
        >>> parse_evaluator("columnar"), parse_evaluator("auto")
        ('columnar', None)
    """
    if value == "auto":
        return None
    if not any(declaration.name == value for declaration in DECLARATIONS):
        names = ", ".join(repr(declaration.name) for declaration in DECLARATIONS if declaration.takes_windows)
        raise PolicyError(f"{value!r} is not an evaluator of windows; there are 'auto', {names}")
    return value
