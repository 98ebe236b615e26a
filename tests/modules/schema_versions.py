"""Three versions of one module that mean the same, each with another state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin import IncrementalAggregate


class First(IncrementalAggregate[int, list[int], int]):
    """A total, kept as a list of one number."""

    name, version = "test.total", "1.0"

    def create_state(self) -> list[int]:
        return [0]

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [state[0] + sum(payloads)]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [state[0] - sum(payloads)]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [state[0] + other[0]]

    def compute_result(self, state: list[int]) -> int:
        return state[0]


@dataclass
class Sum:
    """What the second and the third version keep."""

    total: int


class Second(IncrementalAggregate[int, Sum, int]):
    """The same, kept as a record.

    Attributes:
        upgraded: The states that it has upgraded, each with the version that made it.
    """

    name, version = "test.total", "2.0"

    def __init__(self) -> None:
        self.upgraded: list[tuple[Any, str]] = []

    def create_state(self) -> Sum:
        return Sum(0)

    def add_events(self, state: Sum, payloads: Sequence[int]) -> Sum:
        return Sum(state.total + sum(payloads))

    def remove_events(self, state: Sum, payloads: Sequence[int]) -> Sum:
        return Sum(state.total - sum(payloads))

    def combine(self, state: Sum, other: Sum) -> Sum:
        return Sum(state.total + other.total)

    def compute_result(self, state: Sum) -> int:
        return state.total

    def upgrade_state(self, state: Any, version: str) -> Sum:
        self.upgraded.append((state, version))
        if version == "1.0":
            return Sum(state[0])
        return Sum(state["total"])


class Third(Second):
    """The same again, under a newer version."""

    version = "2.1"


class Broken(Second):
    """A newer version that fails on every older state."""

    version = "3.0"

    def upgrade_state(self, state: Any, version: str) -> Sum:
        raise ValueError(f"version {version} is unknown")


class Without(First):
    """A newer version that neither upgrades older states nor says that it continues them."""

    version = "1.1"


class Compatible(First):
    """A newer version whose results mean what those of 1.0 mean."""

    version = "1.2"
    continues_since = "1.0"
