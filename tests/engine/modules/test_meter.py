"""The time that the calls of a module take, all of them at first and then a sample, on a clock that tests move."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable

import pytest

from muntin_engine.modules.meter import STRIDE, TIMED, Meter


class Clock:
    """A clock that stands still unless a test moves it."""

    def __init__(self) -> None:
        self.time = 0

    def __call__(self) -> int:
        return self.time


class Work:
    """A method whose calls take some time each, and return how long that was."""

    def __init__(self, clock: Clock, durations: Iterable[int]) -> None:
        self.clock = clock
        self.durations = iter(durations)

    def __call__(self) -> int:
        duration = next(self.durations)
        self.clock.time += duration
        return duration


def call(meter: Meter, method: Callable[[], int]) -> int:
    """Call a method as the engine does, so that the meter times it if the call is in its sample."""
    return meter.sampled(method)()


def test_the_first_calls_are_all_timed() -> None:
    clock = Clock()
    meter = Meter(clock)
    durations = range(TIMED - 1)
    work = Work(clock, durations)
    assert [call(meter, work) for _ in durations] == list(durations)
    assert meter.take() == sum(durations)


def test_of_later_calls_a_sample_is_timed_and_stands_for_the_others() -> None:
    clock = Clock()
    meter = Meter(clock)
    work = Work(clock, [5] * 10_000)
    for _ in range(10_000):
        call(meter, work)
    assert meter.take() == pytest.approx(10_000 * 5, rel=0.005)


def test_the_sample_has_an_equal_share_of_each_of_several_methods_that_are_called_in_turn() -> None:
    clock = Clock()
    meter = Meter(clock)
    turn = [1, 10, 100, 1000]
    turns = 100 * STRIDE
    work = Work(clock, turn * turns)
    for _ in range(len(turn) * turns):
        call(meter, work)
    assert meter.take() == pytest.approx(turns * sum(turn), rel=0.02)


def test_the_stride_is_a_prime() -> None:
    assert all(STRIDE % divisor for divisor in range(2, STRIDE))


def test_calls_inside_of_calls_do_not_distort_the_sample_of_the_outer_ones() -> None:
    clock = Clock()
    meter = Meter(clock)
    inner = Work(clock, [0] * 10_000)  # the inner calls take no time, but some are in the sample

    def outer() -> int:
        clock.time += 7
        return call(meter, inner)

    outer_calls = 100 * STRIDE
    for _ in range(outer_calls):
        call(meter, outer)
    assert meter.take() == pytest.approx(outer_calls * 7, rel=0.1)


def test_a_call_that_fails_is_timed_as_well() -> None:
    clock = Clock()
    meter = Meter(clock)

    def fail() -> int:
        clock.time += 3
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  # it is the one above
        call(meter, fail)
    assert meter.take() == 3


def test_the_times_of_loops_that_are_timed_as_a_whole_add_up() -> None:
    clock = Clock()
    meter = Meter(clock)
    for _ in range(3):
        started = meter.now()
        clock.time += 20
        meter.since(started)
    assert meter.take() == 60


def test_a_take_sets_the_time_to_zero_and_the_next_call_is_timed() -> None:
    clock = Clock()
    meter = Meter(clock)
    work = Work(clock, [1] * 1000)
    for _ in range(TIMED + 3):
        call(meter, work)
    assert meter.skips > 0

    meter.take()
    assert meter.skips == 0
    assert meter.take() == 0


def test_a_long_call_at_the_same_place_of_each_batch_is_in_the_sample_of_one_batch_of_a_stride() -> None:
    clock = Clock()
    meter = Meter(clock)
    batch = [1] * 200
    batch[100] = 1000
    measured = 0
    for _ in range(STRIDE):
        work = Work(clock, batch)
        for _ in batch:
            call(meter, work)
        measured += meter.take()
    assert measured == pytest.approx(STRIDE * sum(batch), rel=0.1)


def test_without_a_clock_nothing_is_measured() -> None:
    meter = Meter()
    work = Work(Clock(), [1] * 10)
    assert [call(meter, work) for _ in range(10)] == [1] * 10
    meter.since(meter.now())
    assert meter.take() == 0


@pytest.mark.parametrize(("clock", "skips_calls"), [(time.perf_counter_ns, False), (None, True)])
def test_a_pickled_meter_measures_only_if_it_was_made_with_a_clock(
    clock: Callable[[], int] | None, skips_calls: bool
) -> None:
    meter = pickle.loads(pickle.dumps(Meter(clock)))
    assert (meter.skips > 0) is skips_calls
