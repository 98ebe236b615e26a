"""The evaluators that tasks run, by the names that they declare. Another one is a folder and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muntin_engine.evaluators.arrays.array_evaluator import ArrayEvaluator
from muntin_engine.evaluators.contracts import AnswersAtOnce, KeepsState, LiftsRows
from muntin_engine.evaluators.declarations.arrays import COLUMNAR, GROUPED, SLICED
from muntin_engine.evaluators.declarations.general import GENERAL
from muntin_engine.evaluators.declarations.joins import JOINING, PAIRING, PASSING
from muntin_engine.evaluators.declarations.ordered import EVENT_BY_EVENT, IN_ORDER, STATELESS
from muntin_engine.evaluators.declarations.ranked import RANKED, SLIDING
from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator
from muntin_engine.evaluators.joins.join_evaluator import JoinEvaluator, PassingEvaluator
from muntin_engine.evaluators.joins.pair_evaluator import PairEvaluator
from muntin_engine.evaluators.ordered.ordered_evaluator import EventByEventEvaluator, RowsEvaluator, StatelessEvaluator
from muntin_engine.evaluators.ranked.ranked_evaluator import RankedEvaluator

KEEPS_STATE: Final[Mapping[str, KeepsState]] = {
    COLUMNAR.name: ArrayEvaluator(),
    SLICED.name: ArrayEvaluator(),
    GROUPED.name: ArrayEvaluator(),
    GENERAL.name: GeneralEvaluator(),
    RANKED.name: RankedEvaluator(),
    SLIDING.name: RankedEvaluator(),
    IN_ORDER.name: RowsEvaluator(),
    EVENT_BY_EVENT.name: EventByEventEvaluator(),
    PASSING.name: PassingEvaluator(),
    PAIRING.name: PairEvaluator(),
    JOINING.name: JoinEvaluator(),
}
"""The evaluators that keep state, which evaluate buckets."""

LIFTS_ROWS: Final[Mapping[str, LiftsRows]] = {
    name: evaluator for name, evaluator in KEEPS_STATE.items() if isinstance(evaluator, LiftsRows)
}
"""The evaluators that lift rows before the shuffle."""

ANSWERS_AT_ONCE: Final[Mapping[str, AnswersAtOnce]] = {STATELESS.name: StatelessEvaluator()}
"""The evaluators that compute results from rows alone, without buckets."""
