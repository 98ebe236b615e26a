"""How long the calls of a module take."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator

import pytest

from muntin_engine.modules.meter import STRIDE, TIMED, Meter


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.time = 0

    def __call__(self) -> int:
        return self.time


class Work:
    """A method that takes some time."""

    def __init__(self, clock: Clock, durations: Iterator[int]) -> None:
        self.clock = clock
        self.durations = durations

    def __call__(self) -> int:
        duration = next(self.durations)
        self.clock.time += duration
        return duration


def call(meter: Meter, method: Callable[[], int]) -> int:
    return meter.sampled(method)()


def test_the_first_calls_are_all_timed() -> None:
    clock = Clock()
    meter = Meter(clock)
    work = Work(clock, iter(range(TIMED)))
    assert [call(meter, work) for _ in range(TIMED - 1)] == list(range(TIMED - 1))
    assert meter.take() == sum(range(TIMED - 1))


def test_later_calls_are_timed_now_and_then_and_stand_for_the_others() -> None:
    clock = Clock()
    meter = Meter(clock)
    work = Work(clock, iter([5] * 10_000))
    for _ in range(10_000):
        call(meter, work)
    assert meter.take() == pytest.approx(50_000, rel=0.005)


def test_methods_that_are_called_in_turn_all_get_their_share() -> None:
    clock = Clock()
    turns = [1, 10, 100, 1000]
    meter = Meter(clock)
    work = Work(clock, iter(turns * 3100))
    for _ in range(3100 * len(turns)):
        call(meter, work)
    assert meter.take() == pytest.approx(3100 * sum(turns), rel=0.02)
    assert all(STRIDE % length for length in range(2, STRIDE))


def test_a_call_inside_another_does_not_change_what_that_one_stands_for() -> None:
    clock = Clock()
    meter = Meter(clock)
    inner = Work(clock, iter([0] * 10_000))

    def outer() -> int:
        clock.time += 7
        return call(meter, inner)

    for _ in range(3100):
        call(meter, outer)
    assert meter.take() == pytest.approx(3100 * 7, rel=0.1)


def test_a_call_that_fails_is_timed_as_well() -> None:
    clock = Clock()
    meter = Meter(clock)

    def fail() -> int:
        clock.time += 3
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  # it is the one above
        call(meter, fail)
    assert meter.take() == 3


def test_what_is_timed_as_a_whole_adds_up() -> None:
    clock = Clock()
    meter = Meter(clock)
    for _ in range(3):
        started = meter.now()
        clock.time += 20
        meter.since(started)
    assert meter.take() == 60


def test_taking_starts_anew() -> None:
    clock = Clock()
    meter = Meter(clock)
    work = Work(clock, iter([1] * 1000))
    for _ in range(TIMED + 3):
        call(meter, work)
    meter.take()
    assert meter.skips == 0
    assert meter.take() == 0


def test_calls_that_come_in_the_same_order_in_each_batch_all_get_their_turn() -> None:
    clock = Clock()
    meter = Meter(clock)
    spent = 0
    for _ in range(STRIDE):
        work = Work(clock, iter([1000 if place == 100 else 1 for place in range(200)]))
        for _ in range(200):
            call(meter, work)
        spent += meter.take()
    assert spent == pytest.approx(STRIDE * 1199, rel=0.1)


def test_without_a_clock_nothing_is_measured() -> None:
    meter = Meter()
    work = Work(Clock(), iter([1] * 10))
    assert [call(meter, work) for _ in range(10)] == [1] * 10
    meter.since(meter.now())
    assert meter.take() == 0


@pytest.mark.parametrize(("clock", "skips"), [(time.perf_counter_ns, False), (None, True)])
def test_a_meter_travels_to_the_workers_as_it_was_made(clock: Callable[[], int] | None, skips: bool) -> None:
    assert bool(pickle.loads(pickle.dumps(Meter(clock))).skips) is skips
