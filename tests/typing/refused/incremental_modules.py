"""What a type checker says to the writer of a module that keeps a state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import Event, IncrementalAggregate, IncrementalOperator, Window


class WrongState(IncrementalAggregate[float, list[float], float]):
    name, version = "tides.wrong_state", "1.0.0"

    def create_state(self) -> float:  # E: [override] Callable[[], list[float]]
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> list[float]:  # E: [override] [[list[float], Seq
        return []

    def compute_result(self, state: float) -> float:  # E: [override] Callable[[list[float]], float]
        return state


class WrongOptionalMethods(IncrementalAggregate[float, int, float]):
    name, version = "tides.wrong_optional_methods", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[float]) -> int:
        return state

    def remove_events(self, state: int, payloads: float) -> int:  # E: [override] Callable[[int, Sequence[float]], int]
        return state

    def combine(self, state: int, other: str) -> int:  # E: [override] Callable[[int, int], int]
        return state

    def deduct(self, state: int, other: int) -> str:  # E: [override] Callable[[int, int], int]
        return ""

    def columnar_form(self) -> None:  # E: [override] "columnar_form"
        return None

    def upgrade_state(self, state: str, version: str) -> str:  # E: [override] Callable[[Any, str], int]
        return state

    def compute_result(self, state: int) -> float:
        return state


class WrongCombine(IncrementalOperator[str, set[str], str]):
    name, version = "tides.wrong_combine", "1.0.0"

    def create_state(self) -> set[str]:
        return set()

    def add_events(self, state: set[str], payloads: Sequence[str]) -> set[str]:
        return state | set(payloads)

    def combine(self, states: list[set[str]]) -> set[str]:  # E: [override] "combine"
        return set().union(*states)

    def compute_result(self, state: set[str]) -> Iterable[str]:
        return state


class ForgetsTheWindow(IncrementalAggregate[str, int, float]):
    name, version = "tides.forgets_the_window", "1.0.0"
    is_time_sensitive = True

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, events: Sequence[Event[str]], window: Window) -> int:
        return state + len(events)

    def remove_events(self, state: int, events: Sequence[Event[str]]) -> int:  # E: [override] "remove_events"
        return state - len(events)

    def upgrade_state(self, state: str, version: str) -> int:
        return len(state)

    def compute_result(self, state: int, window: Window) -> float:
        return state


class WantsPayloads(IncrementalOperator[str, int, str]):
    name, version = "tides.wants_payloads", "1.0.0"
    is_time_sensitive = True

    def create_state(self, window: Window) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[str], window: Window) -> int:  # E: [override] Event[str]
        return state

    def compute_result(self, state: int, window: Window) -> Iterable[Event[str] | str]:
        return [state]  # E: [list-item] expected "Event[str] | str"


class Incomplete(IncrementalAggregate[float, int, float]):
    name, version = "tides.incomplete", "1.0.0"

    def create_state(self) -> int:
        return 0


incomplete = Incomplete()  # E: [abstract] "add_events" and "compute_result"
