"""The module of the thesis's heavy hitters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from muntin import IncrementalOperator


class HeavyHitters(IncrementalOperator[str, dict[str, int], str]):
    """Return the values that make up at least a share of all; the state counts each."""

    name, version = "thesis.heavy_hitters", "1.0"

    def __init__(self, percent: int = 5) -> None:
        self.percent = percent

    def create_state(self) -> dict[str, int]:
        return {}

    def add_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) + Counter(payloads))

    def remove_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) - Counter(payloads))

    def combine(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        return dict(Counter(state) + Counter(other))

    def compute_result(self, state: dict[str, int]) -> list[str]:
        total = sum(state.values())
        return sorted(value for value, count in state.items() if 100 * count >= self.percent * total)
