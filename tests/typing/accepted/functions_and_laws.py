"""Functions, operators and the laws classes: nothing here is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import strategies as st

from muntin import Event, Operator, Window, function, tumbling
from muntin.testing import Computation, FunctionLaws, OperatorLaws, Script, WindowedQuery


@dataclass(frozen=True)
class Step:
    low: float
    high: float


class Steps(Operator[float, Step]):
    name, version = "tides.steps", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> list[Step]:
        ordered = sorted(payloads)
        return [Step(low, high) for low, high in pairwise(ordered)]


class Starts(Operator[str, str]):
    name, version = "tides.starts", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterable[Event[str] | str]:
        yield from (Event.point(event.start, event.payload) for event in events if event.start >= window.start)


@function("tides.feet", version="1.0.0")
def feet(metres: float, *, digits: int = 2) -> float:
    return round(metres / 0.3048, digits)


class TestSteps(OperatorLaws):
    module = Steps()
    payloads = st.floats(0, 10)


class TestFeet(FunctionLaws):
    function = feet


height: float = feet(3.048, digits=1)
output = Script().point("a", 1, 2.0).close().run(WindowedQuery(tumbling(10), [Computation(Steps())]))
