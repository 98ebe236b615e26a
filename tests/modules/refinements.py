"""Refinements of one's own, honest ones and one that breaks each law."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin import ResultRefinement

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Change(ResultRefinement):
    """Emits by how much a sum changed since the window was last emitted."""

    name, version = "test.change", "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result]:
        before = state or dict.fromkeys(result, 0)
        return dict(result), {name: value - before[name] for name, value in result.items()}


@dataclass(frozen=True)
class OnlyIfMoved(ResultRefinement):
    """Emits a result that is away from the last one that it emitted by more than a threshold; the final one always."""

    name, version = "test.only_if_moved", "1"
    threshold: int

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result | None]:
        (value,) = result.values()
        if state is None or is_final or abs(value - state) > self.threshold:
            return value, result
        return state, None


@dataclass(frozen=True)
class OtherThanBefore(ResultRefinement):
    """Emits a result that is another than the last one; of any type."""

    name, version = "test.other_than_before", "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result | None]:
        return dict(result), None if result == state else result


@dataclass(frozen=True)
class EverySecond(ResultRefinement):
    """Emits the result before, at every second firing, and keeps all; of any type."""

    name, version = "test.every_second", "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result | None]:
        results = [*(state or []), dict(result)]
        return results, results[-2] if len(results) % 2 == 0 else None


class _Named:
    version = "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, result


class Undescribed(_Named, ResultRefinement):
    """It is no dataclass."""

    name = "test.undescribed"


@dataclass(frozen=True)
class KeepsAnObject(_Named, ResultRefinement):
    name = "test.keeps_an_object"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return object(), result


@dataclass(frozen=True)
class ChangesItsState(_Named, ResultRefinement):
    name = "test.changes_its_state"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        state = [] if state is None else state
        state.append(dict(result))
        return state, result


@dataclass(frozen=True)
class Counts(_Named, ResultRefinement):
    name = "test.counts"
    _calls: ClassVar[itertools.count[int]] = itertools.count()

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, result if next(self._calls) % 3 else None


@dataclass(frozen=True)
class Halves(_Named, ResultRefinement):
    name = "test.halves"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, {name: value / 2 for name, value in result.items()}


@dataclass(frozen=True)
class Renames(_Named, ResultRefinement):
    name = "test.renames"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, {f"{name}s": value for name, value in result.items()}


@dataclass(frozen=True)
class Fails(_Named, ResultRefinement):
    name = "test.fails"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        raise ZeroDivisionError("at all")


HONEST = (Change(), OnlyIfMoved(2), OtherThanBefore(), EverySecond())
HOSTILE: Mapping[str, tuple[ResultRefinement, ...]] = {
    "test_definition_is_complete": (Undescribed(),),
    "test_states_are_plain_data": (KeepsAnObject(), Fails()),
    "test_refining_leaves_its_arguments_as_they_were": (ChangesItsState(),),
    "test_the_same_results_are_refined_alike": (Counts(),),
    "test_it_emits_all_columns_or_none": (Halves(), Renames()),
}
