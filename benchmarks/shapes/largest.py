"""The largest payload of a window, in the form that each evaluator takes. Each counts what it touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin import Aggregate, ColumnarAggregate, Component, IncrementalAggregate


@dataclass
class Touched:
    """The work of a module.

    Attributes:
        payloads: The number of payloads that it was given; one that was given twice counts twice.
        merges: The number of merges of two states.
    """

    payloads: int = 0
    merges: int = 0


class LargestOfAll(Aggregate[float, float]):
    """From all members of a window."""

    name, version = "shapes.largest_of_all", "1.0.0"

    def __init__(self, touched: Touched) -> None:
        self._touched = touched

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the largest."""
        self._touched.payloads += len(payloads)
        return max(payloads)


class LargestSoFar(IncrementalAggregate[float, float | None, float]):
    """From a state, which cannot forget: there is neither `remove_events` nor `deduct`."""

    name, version = "shapes.largest_so_far", "1.0.0"

    def __init__(self, touched: Touched) -> None:
        self._touched = touched

    def create_state(self) -> float | None:
        """Return null: nothing yet."""
        return None

    def add_events(self, state: float | None, payloads: Sequence[float]) -> float | None:
        """Return the largest so far."""
        self._touched.payloads += len(payloads)
        largest = max(payloads)
        return largest if state is None else max(state, largest)

    def combine(self, state: float | None, other: float | None) -> float | None:
        """Return the larger of two."""
        self._touched.merges += 1
        return other if state is None else state if other is None else max(state, other)

    def compute_result(self, state: float | None) -> float:
        """Return the largest."""
        assert state is not None, "the engine makes no result of an empty window"
        return state


class LargestOnArrays(ColumnarAggregate[float, float]):
    """From arrays."""

    name, version = "shapes.largest_on_arrays", "1.0.0"

    def __init__(self, touched: Touched) -> None:
        self._touched = touched

    def components(self) -> Mapping[str, Component]:
        """Return the largest, which has no inverse."""
        return {"largest": Component.max()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        """Return each payload."""
        self._touched.payloads += len(payloads)
        return {"largest": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        """Return the largest of each window."""
        return components["largest"]
