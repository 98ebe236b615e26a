"""Refinements of results: some that obey all laws, and for each law at least one that breaks it."""

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
        previous = state or dict.fromkeys(result, 0)
        return dict(result), {name: value - previous[name] for name, value in result.items()}


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
    """Emits a result, of any type, unless it equals the one before it."""

    name, version = "test.other_than_before", "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result | None]:
        return dict(result), None if result == state else result


@dataclass(frozen=True)
class EverySecond(ResultRefinement):
    """Emits at every second firing the result of the firing before, of any type; its state has all results."""

    name, version = "test.every_second", "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> tuple[Any, Result | None]:
        results = [*(state or []), dict(result)]
        if len(results) % 2 == 1:
            return results, None
        return results, results[-2]


class _Unchanged:
    """Emits each result as it is, and keeps nothing."""

    version = "1"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, result


class Undescribed(_Unchanged, ResultRefinement):
    """It is no dataclass."""

    name = "test.undescribed"


@dataclass(frozen=True)
class KeepsAnObject(_Unchanged, ResultRefinement):
    name = "test.keeps_an_object"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return object(), result


@dataclass(frozen=True)
class ChangesItsState(_Unchanged, ResultRefinement):
    name = "test.changes_its_state"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        state = [] if state is None else state
        state.append(dict(result))
        return state, result


@dataclass(frozen=True)
class Counts(_Unchanged, ResultRefinement):
    """It emits nothing at every third call, whatever it is called with."""

    name = "test.counts"
    _calls: ClassVar[itertools.count[int]] = itertools.count()

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        is_third = next(self._calls) % 3 == 0
        return None, None if is_third else result


@dataclass(frozen=True)
class Halves(_Unchanged, ResultRefinement):
    """Of integers it makes floats, which the columns of the results cannot have."""

    name = "test.halves"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, {name: value / 2 for name, value in result.items()}


@dataclass(frozen=True)
class Renames(_Unchanged, ResultRefinement):
    name = "test.renames"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        return None, {f"{name}s": value for name, value in result.items()}


@dataclass(frozen=True)
class Fails(_Unchanged, ResultRefinement):
    name = "test.fails"

    def refine(self, state: Any, result: Result, is_final: bool) -> Any:
        raise ZeroDivisionError("at all")


HONEST = (Change(), OnlyIfMoved(2), OtherThanBefore(), EverySecond())
"""Refinements that obey all laws."""

HOSTILE: Mapping[str, tuple[ResultRefinement, ...]] = {
    "test_definition_is_complete": (Undescribed(),),
    "test_states_are_plain_data": (KeepsAnObject(), Fails()),
    "test_refining_leaves_its_arguments_as_they_were": (ChangesItsState(),),
    "test_the_same_results_are_refined_alike": (Counts(),),
    "test_it_emits_all_columns_or_none": (Halves(), Renames()),
}
"""Refinements that break a law, by the test of the law."""
