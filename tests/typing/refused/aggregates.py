"""What a type checker says to the writer of an aggregate or an operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import Aggregate, Event, Module, Operator, Window, hookimpl


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


class ForgetsTheWindow(Aggregate[float, float]):
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
