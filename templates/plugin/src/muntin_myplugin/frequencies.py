"""An incremental operator: rows that are computed from a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin import IncrementalOperator


@dataclass(frozen=True)
class Frequency:
    """A text and the number of its occurrences."""

    text: str
    count: int


class Frequencies(IncrementalOperator[str, dict[str, int], Frequency]):
    """Return how often each text occurs.

    Example:
        >>> frequencies = Frequencies()
        >>> frequencies.compute_result(frequencies.add_events({}, ["b", "a", "b"]))
        [Frequency(text='a', count=1), Frequency(text='b', count=2)]
    """

    name, version = "myplugin.frequencies", "0.1.0"

    def create_state(self) -> dict[str, int]:
        """Return the state of no payloads."""
        return {}

    def add_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        """Return the state with more payloads; the state is ours to change."""
        for text in payloads:
            state[text] = state.get(text, 0) + 1
        return state

    def remove_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        """Return the state with fewer payloads."""
        for text in payloads:
            state[text] -= 1
            if not state[text]:
                del state[text]
        return state

    def compute_result(self, state: dict[str, int]) -> list[Frequency]:
        """Return a row per text."""
        return [Frequency(text, count) for text, count in sorted(state.items())]
