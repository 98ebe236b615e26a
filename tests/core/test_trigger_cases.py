"""The well-known triggers of Beam and Flink, and what they do there, as streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from muntin import Window, early, tumbling
from muntin.triggers import (
    Decision,
    Trigger,
    TriggerView,
    after,
    after_count,
    any_of,
    each,
    every_count,
    past_end,
    repeat,
    until,
)
from tests.core.build import Members
from tests.core.early import at, fed, fired

# Beam's triggers


def test_repeatedly_an_element_count() -> None:
    feed = fed(every_count(3))
    firings = [fired(feed.batch(at(1))) for _ in range(7)]
    assert [place for place, fired in enumerate(firings) if fired] == [2, 5]


def test_the_first_of_a_count_and_a_delay_starts_both_anew() -> None:
    """Repeatedly(AfterFirst(count 3, a minute after the first element in the firing))."""
    feed = fed(repeat(any_of(after_count(3), after(60))))
    feed.batch(at(1), clock=0)
    assert fired(feed.batch(at(1), at(1), clock=50)) == ["early 0 [0,10) 3"]
    assert fired(feed.batch(clock=60)) == []
    feed.batch(at(1), clock=65)
    assert fired(feed.batch(clock=124)) == []
    assert fired(feed.batch(clock=125)) == ["early 1 [0,10) 4"]


def test_each_in_turn_begins_where_the_one_before_ended() -> None:
    """AfterEach(count 3, Repeatedly(count 5))."""
    feed = fed(each(after_count(3), every_count(5)))
    firings = [fired(feed.batch(at(1))) for _ in range(14)]
    assert [place for place, fired in enumerate(firings) if fired] == [2, 7, 12]


def test_repeatedly_or_finally_the_end_fires_too() -> None:
    """Repeatedly(count 2).orFinally(count 5)."""
    feed = fed(until(every_count(2), after_count(5)))
    firings = [fired(feed.batch(at(1))) for _ in range(9)]
    assert [place for place, fired in enumerate(firings) if fired] == [1, 3, 4]


def test_early_firings_and_one_on_time_before_the_window_is_complete() -> None:
    """AfterWatermark with early firings: the max event time passes the end while events may still come behind it."""
    feed = fed(until(every_count(2), past_end()))
    assert fired(feed.batch(at(1), at(2))) == ["early 0 [0,10) 2"]
    feed.batch(at(3))
    assert fired(feed.batch(at(12))) == ["early 1 [0,10) 3"]
    assert fired(feed.batch(at(4), at(5))) == []
    assert fired(feed.batch(watermark=10)) == ["final 2 [0,10) 5"]


# Flink's triggers


@dataclass(frozen=True)
class ContinuousEventTime(Trigger):
    """Fires each time the max event time passes a multiple of a period."""

    name: ClassVar[str] = "test.continuous_event_time"

    period: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        if state is None:
            return self._after(view.max_event_time), Decision.WAIT
        return (
            (self._after(view.max_event_time), Decision.FIRE)
            if view.max_event_time >= state
            else (state, Decision.WAIT)
        )

    def next_event_time(self, state: Any, window: Window) -> int:
        return int(state)

    def _after(self, max_event_time: int) -> int:
        return max_event_time // self.period * self.period + self.period


@dataclass(frozen=True)
class Delta(Trigger):
    """Fires when a value is further from that of the last firing than a threshold, at first from the first."""

    name: ClassVar[str] = "test.delta"

    column: str
    threshold: float

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        values = view.values[self.column]
        base = next(iter(values), None) if state is None else state
        far = [value for value in values if abs(value - base) > self.threshold]
        return (far[-1], Decision.FIRE) if far else (base, Decision.WAIT)


def test_continuous_event_time() -> None:
    feed = fed(ContinuousEventTime(10), tumbling(100))
    feed.batch(at(3))
    assert fired(feed.batch(at(9))) == []
    assert fired(feed.batch(at(25))) == ["early 0 [0,100) 3"]
    assert fired(feed.batch(at(29))) == []
    assert fired(feed.batch(watermark=30)) == ["early 1 [0,100) 4"]


def test_a_count_that_purges() -> None:
    feed = fed(early(every_count(2), refinement="discard"))
    firings = [fired(feed.batch(at(1, value))) for value in (1, 2, 3, 4, 5)]
    assert firings == [[], ["early 0 [0,10) 3"], [], ["early 1 [0,10) 7"], []]


def test_a_delta_from_the_last_firing() -> None:
    feed = fed(Delta("v", 10), module=Members(), expressions={"v": lambda payload: payload[0]})
    assert fired(feed.batch(at(1, 100))) == []
    assert fired(feed.batch(at(2, 111))) == ["early 0 [0,10) (100, 111)"]
    assert fired(feed.batch(at(3, 105))) == []
    assert fired(feed.batch(at(4, 120), at(3, 90))) == ["early 1 [0,10) (90, 100, 105, 111, 120)"]
