"""What a type checker says to the writer of a module or a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import (
    Aggregate,
    ClipPolicy,
    Event,
    IncrementalAggregate,
    IncrementalOperator,
    Module,
    Operator,
    Window,
    function,
    hookimpl,
    hopping,
    tumbling,
)
from muntin.testing import AggregateLaws, Computation, Script, WindowedQuery


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


class WrongPayload(Aggregate[float, float]):
    name, version = "tides.wrong_payload", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> float:  # E: [override] Callable[[Sequence[float]], float]
        return 0.0


class WrongResult(Aggregate[float, float]):
    name, version = "tides.wrong_result", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> str:  # E: [override] Callable[[Sequence[float]], float]
        return ""


class ReturnsSomethingElse(Aggregate[float, float]):
    name, version = "tides.returns_something_else", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return [max(payloads)]  # E: [return-value] expected "float"


class MightBeNull(Aggregate[float, float]):
    name, version = "tides.might_be_null", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float | None:  # E: [override] [[Sequence[float]], float]
        return None


class WantsEvents(Aggregate[float, float]):
    name, version = "tides.wants_events", "1.0.0"

    def compute_result(self, events: Sequence[Event[float]]) -> float:  # E: [override] Sequence[Event[float]], Window]
        return 0.0


class LeavesTheWindowOut(Aggregate[float, float]):
    name, version = "tides.forgets_the_window", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[float]]) -> float:  # E: [override] incompatible with supertype
        return 0.0


class WrongRow(Operator[float, float]):
    name, version = "tides.wrong_row", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:  # E: [override] Iterable[float]
        return 0.0


class WrongRowInAnEvent(Operator[float, float]):
    name, version = "tides.wrong_row_in_an_event", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[float]], window: Window) -> Iterable[Event[float] | float]:
        yield Event.point(window.start, "high")  # E: [arg-type] expected "float"


class Misspelt(Aggregate[float, float]):
    name, version = "tides.misspelt", "1.0.0"

    def compute_results(self, payloads: Sequence[float]) -> float:
        return 0.0


class WrongAttributes(Aggregate[float, float]):
    name, version = "tides.wrong_attributes", 1  # E: [assignment] defined the type as "str"
    accepted_clips = ("full",)  # E: [assignment] "frozenset[ClipPolicy]"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return 0.0


class TooFewTypes(Aggregate[float]):  # E: [type-arg] expects 2 type arguments
    name, version = "tides.too_few_types", "1.0.0"


misspelt = Misspelt()  # E: [abstract] abstract attribute "compute_result"
WrongResult().compute_result(["low"])  # E: [list-item] expected "float"


@hookimpl
def muntin_modules() -> list[type[Module]]:
    return [WrongResult, misspelt]  # E: [list-item] expected "type[Module]"


@function("tides.feet", version=1)  # E: [arg-type] expected "str"
def feet(metres: float) -> float:
    return metres / 0.3048


@function("tides.metres", version="1.0.0")
def metres(feet: float) -> float:
    return str(feet)  # E: [return-value] expected "float"


metres("3")  # E: [arg-type] expected "float"
metres(3.0, digits=2)  # E: [call-arg] Unexpected keyword argument "digits"
whole: int = metres(3.0)  # E: [assignment] has type "float"


class TestTides(AggregateLaws):
    payloads = (1.0, 2.0)  # E: [assignment] "SearchStrategy[Any] | None"
    tolerance = "small"  # E: [assignment] "float"


Script().point("a", "now", 1.0)  # E: [arg-type] expected "int"
WindowedQuery(tumbling(10), [Computation(feet)])  # E: [arg-type] expected Module
WindowedQuery(hopping(10), [], ClipPolicy.FULL)  # E: [call-arg] Missing positional argument "hop"
