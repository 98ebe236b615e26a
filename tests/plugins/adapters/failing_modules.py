"""Modules that raise exceptions, each in another method, on payloads that laws and streams are likely to have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import Aggregate, Event, IncrementalAggregate, IncrementalOperator, Operator, OutputContract, Window


class Refusing(IncrementalAggregate[int, list[int], int]):
    """Divide 60 by the sum; a negative payload is refused when those before it are in the state already."""

    name, version = "test.refusing", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            if payload < 0:
                raise ValueError(f"{payload} is negative")
            state.append(payload)
        return state

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            state.remove(payload)
        return state

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        state += other
        return state

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        return self.remove_events(state, other)

    def compute_result(self, state: list[int]) -> int:
        return 60 // sum(state)


class Crowded(Refusing):
    """Fail with a fourth payload, whether it is added or merged."""

    name = "test.crowded"

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return self.combine(state, list(payloads))

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        state += other
        if len(state) > 3:
            raise OverflowError("more than three")
        return state


class Unmade(Refusing):
    """Fail where the first state is made."""

    name = "test.unmade"

    def create_state(self) -> list[int]:
        raise LookupError("no state")


class RefusingTimes(IncrementalOperator[int, list[int], int]):
    """A row of 60 over each payload; windows that start before zero and events longer than 12 ticks are refused."""

    name, version = "test.refusing_times", "1"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND

    def create_state(self, window: Window) -> list[int]:
        if window.start < 0:
            raise LookupError("before zero")
        return []

    def add_events(self, state: list[int], events: Sequence[Event[int]], window: Window) -> list[int]:
        for event in events:
            if event.end > event.start + 12:
                raise ValueError(f"{event.payload} is long")
            state.append(event.payload)
        return state

    def compute_result(self, state: list[int], window: Window) -> Iterable[int]:
        return (60 // payload for payload in state)


class Inverse(Aggregate[int, float]):
    """One over the smallest payload; it fails for zero."""

    name, version = "test.inverse", "1"

    def compute_result(self, payloads: Sequence[int]) -> float:
        return 1 / min(payloads)


class Inverses(Operator[int, float]):
    """A row of one over each payload; with a zero it fails while its rows are read."""

    name, version = "test.inverses", "1"

    def compute_result(self, payloads: Sequence[int]) -> Iterable[float]:
        return (1 / payload for payload in sorted(payloads, reverse=True))


class InverseTimes(Operator[int, float]):
    """A row of one over each payload at the start of its event; it fails for zero."""

    name, version = "test.inverse_times", "1"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[float]]:
        return [Event.point(max(event.start, window.start), 1 / event.payload) for event in events]


class Ordered(IncrementalAggregate[int, list[int], list[int]]):
    """All payloads in their order; one that is less than the one before it is refused, and a first one above 5."""

    name, version = "test.ordered", "1"
    reads_order = True

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            if state and payload < state[-1]:
                raise ValueError(f"{payload} after {state[-1]}")
            if not state and payload > 5:
                raise ValueError(f"{payload} is first")
            state.append(payload)
        return state

    def compute_result(self, state: list[int]) -> list[int]:
        return list(state)


FAILING = (Refusing, Crowded, Unmade, RefusingTimes, Inverse, Inverses, InverseTimes, Ordered)
