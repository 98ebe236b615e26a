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
        """Take the function that imports and makes each evaluator, by its name."""
        self.makers = dict(makers)

    def __getitem__(self, name: str) -> EvaluatorT:
        """Import and make an evaluator. It is made anew each time, as it has no state of its own."""
        return self.makers[name]()

    def __contains__(self, name: object) -> bool:
        """Say whether there is an evaluator of a name, without importing it as `Mapping` would."""
        return name in self.makers

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self.makers)

    def __len__(self) -> int:
        """Return the number of evaluators."""
        return len(self.makers)


def _arrays() -> ArrayEvaluator:
    """Import and make the evaluator that computes all keys at once over arrays."""
    from muntin_engine.evaluators.arrays.array_evaluator import ArrayEvaluator

    return ArrayEvaluator()


def _general() -> KeepsState:
    """Import and make the evaluator for windows of any kind, key by key."""
    from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator

    return GeneralEvaluator()


def _ranked() -> RankedEvaluator:
    """Import and make the evaluator for the last rows of each key, all keys at once."""
    from muntin_engine.evaluators.ranked.ranked_evaluator import RankedEvaluator

    return RankedEvaluator()


def _rows_in_order() -> KeepsState:
    """Import and make the evaluator for windows that follow rows in their order."""
    from muntin_engine.evaluators.ordered.ordered_evaluator import RowsEvaluator

    return RowsEvaluator()


def _event_by_event() -> KeepsState:
    """Import and make the evaluator for a stream operator, event by event."""
    from muntin_engine.evaluators.ordered.ordered_evaluator import EventByEventEvaluator

    return EventByEventEvaluator()


def _without_state() -> AnswersAtOnce:
    """Import and make the evaluator for a stream operator that keeps no state."""
    from muntin_engine.evaluators.ordered.ordered_evaluator import StatelessEvaluator

    return StatelessEvaluator()


def _passing() -> KeepsState:
    """Import and make the evaluator that returns the events of its input."""
    from muntin_engine.evaluators.joins.join_evaluator import PassingEvaluator

    return PassingEvaluator()


def _joining() -> KeepsState:
    """Import and make the evaluator for joins of any kind, key by key."""
    from muntin_engine.evaluators.joins.join_evaluator import JoinEvaluator

    return JoinEvaluator()


def _pairing() -> PairEvaluator:
    """Import and make the evaluator for inner joins over arrays."""
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
    """Import an evaluator ahead of time, so that the first step that runs it does not take the time of the import."""
    for evaluators in (KEEPS_STATE, ANSWERS_AT_ONCE):
        evaluators.get(name)  # a look-up imports the evaluator; one of the two does not have it
