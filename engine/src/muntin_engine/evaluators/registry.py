"""The evaluators there are. Another one is a folder beside this file, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muntin.errors import PolicyError
from muntin_engine.evaluators.arrays.evaluator import ColumnarEvaluator, GroupedEvaluator, SlicedEvaluator
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.evaluators.general.evaluator import GeneralEvaluator
from muntin_engine.evaluators.joins.evaluator import JoinEvaluator, PassingEvaluator
from muntin_engine.evaluators.ordered.evaluator import EventByEventEvaluator, RowsEvaluator, StatelessEvaluator
from muntin_engine.evaluators.pairing.evaluator import PairEvaluator

EVALUATORS: Final[tuple[Evaluator, ...]] = (
    *(ColumnarEvaluator(), SlicedEvaluator(), GroupedEvaluator(), GeneralEvaluator(), RowsEvaluator()),
    StatelessEvaluator(),
    EventByEventEvaluator(),
    PassingEvaluator(),
    PairEvaluator(),
    JoinEvaluator(),
)
"""All of them, the cheapest first.

`general` runs any window that cuts the axis, and `in_order` any window of rows. Those after them are for
queries without windows.
"""

BY_NAME: Final[Mapping[str, Evaluator]] = {evaluator.name: evaluator for evaluator in EVALUATORS}
"""The same by name."""


def parse_evaluator(value: str) -> str | None:
    """Return the name of an evaluator as a query gives it; None for `"auto"`.

    Raises:
        PolicyError: There is no such evaluator.

    Example:
        >>> parse_evaluator("columnar"), parse_evaluator("auto")
        ('columnar', None)
    """
    if value != "auto" and value not in BY_NAME:
        names = ", ".join(repr(evaluator.name) for evaluator in EVALUATORS if evaluator.takes_windows)
        raise PolicyError(f"{value!r} is not an evaluator of windows; there are 'auto', {names}")
    return None if value == "auto" else value
