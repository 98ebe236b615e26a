"""The evaluators that tasks run, by the names that they declare. Another one is a folder and a function here.

Each is imported by the first task that it runs: a query needs one of them, and all together take as long to import as a
small query takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from muntin_engine.evaluators.contracts import AnswersAtOnce, KeepsState, LiftsRows
from muntin_engine.evaluators.declarations.arrays import COLUMNAR, GROUPED, SLICED
from muntin_engine.evaluators.declarations.general import GENERAL
from muntin_engine.evaluators.declarations.joins import JOINING, PAIRING, PASSING
from muntin_engine.evaluators.declarations.ordered import EVENT_BY_EVENT, IN_ORDER, STATELESS
from muntin_engine.evaluators.declarations.ranked import RANKED, SLIDING

if TYPE_CHECKING:
    from muntin_engine.evaluators.arrays.array_evaluator import ArrayEvaluator
    from muntin_engine.evaluators.joins.pair_evaluator import PairEvaluator
    from muntin_engine.evaluators.ranked.ranked_evaluator import RankedEvaluator

EvaluatorT = TypeVar("EvaluatorT")


class Evaluators(Mapping[str, EvaluatorT], Generic[EvaluatorT]):
    """Evaluators by name, each imported when it is first asked for.

    Attributes:
        makers: By name, the function that imports and makes the evaluator.
    """

    def __init__(self, makers: Mapping[str, Callable[[], EvaluatorT]]) -> None:
        """Take what makes the evaluators."""
        self.makers = dict(makers)

    def __getitem__(self, name: str) -> EvaluatorT:
        """Return an evaluator, which has no state of its own."""
        return self.makers[name]()

    def __contains__(self, name: object) -> bool:
        """Say whether there is an evaluator of a name; `Mapping` would import it."""
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self.makers)

    def __len__(self) -> int:
        """Return their number."""
        return len(self.makers)


def _arrays() -> ArrayEvaluator:
    from muntin_engine.evaluators.arrays.array_evaluator import ArrayEvaluator

    return ArrayEvaluator()


def _general() -> KeepsState:
    from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator

    return GeneralEvaluator()


def _ranked() -> RankedEvaluator:
    from muntin_engine.evaluators.ranked.ranked_evaluator import RankedEvaluator

    return RankedEvaluator()


def _rows_in_order() -> KeepsState:
    from muntin_engine.evaluators.ordered.ordered_evaluator import RowsEvaluator

    return RowsEvaluator()


def _event_by_event() -> KeepsState:
    from muntin_engine.evaluators.ordered.ordered_evaluator import EventByEventEvaluator

    return EventByEventEvaluator()


def _without_state() -> AnswersAtOnce:
    from muntin_engine.evaluators.ordered.ordered_evaluator import StatelessEvaluator

    return StatelessEvaluator()


def _passing() -> KeepsState:
    from muntin_engine.evaluators.joins.join_evaluator import PassingEvaluator

    return PassingEvaluator()


def _joining() -> KeepsState:
    from muntin_engine.evaluators.joins.join_evaluator import JoinEvaluator

    return JoinEvaluator()


def _pairing() -> PairEvaluator:
    from muntin_engine.evaluators.joins.pair_evaluator import PairEvaluator

    return PairEvaluator()


KEEPS_STATE: Final = Evaluators[KeepsState](
    {
        COLUMNAR.name: _arrays,
        SLICED.name: _arrays,
        GROUPED.name: _arrays,
        GENERAL.name: _general,
        RANKED.name: _ranked,
        SLIDING.name: _ranked,
        IN_ORDER.name: _rows_in_order,
        EVENT_BY_EVENT.name: _event_by_event,
        PASSING.name: _passing,
        PAIRING.name: _pairing,
        JOINING.name: _joining,
    }
)
"""The evaluators that keep state, which evaluate buckets."""

LIFTS_ROWS: Final = Evaluators[LiftsRows](
    {
        COLUMNAR.name: _arrays,
        SLICED.name: _arrays,
        GROUPED.name: _arrays,
        RANKED.name: _ranked,
        SLIDING.name: _ranked,
        PAIRING.name: _pairing,
    }
)
"""The evaluators that lift rows before the shuffle."""

ANSWERS_AT_ONCE: Final = Evaluators[AnswersAtOnce]({STATELESS.name: _without_state})
"""The evaluators that compute results from rows alone, without buckets."""


def load_evaluator(name: str) -> None:
    """Import an evaluator, so that no step of a run takes as long as its import besides."""
    for evaluators in (KEEPS_STATE, ANSWERS_AT_ONCE):
        evaluators.get(name)
