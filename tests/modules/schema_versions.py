"""Three versions of one module that mean the same, each with another state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin import IncrementalAggregate, Module


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
    """The same, kept as a record. It remembers what it upgraded."""

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
        return Sum(state[0] if version == "1.0" else state["total"])


class Third(Second):
    """The same again, under a newer version."""

    version = "2.1"


class Broken(Second):
    """A version that cannot upgrade what it finds."""

    version = "3.0"

    def upgrade_state(self, state: Any, version: str) -> Sum:
        raise ValueError(f"version {version} is unknown")


class Without(First):
    """A newer version that says nothing of older ones."""

    version = "1.1"


class Compatible(First):
    """A newer version whose results mean what those of 1.0 mean."""

    version = "1.2"
    continues_since = "1.0"


def identity_of(*modules: Module, **parts: Any) -> Mapping[str, Any]:
    """Return the identity of a plan whose modules read the first column."""
    return {**parts, "modules": [[module.name, module.version, {}, [0]] for module in modules]}
