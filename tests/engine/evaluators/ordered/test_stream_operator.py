"""Operators that follow a stream: when they are woken, what is refused, and what explanations and errors say.

Their results over random streams are compared with the reference in `tests/scenarios`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Final

import pytest

from muntin import EmitPolicy, Event, StreamOperator, correct, tumbling
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError, QueryError
from muntin.progress import Punctuated
from muntin.testing import KeyRange, Script, WindowedQuery
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.ordered.stream_operator import OperatorState
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.worker_settings import WorkerSettings
from tests.modules.stream_operators import Level, Newest, Reminders, Silence, Ticker
from tests.scenarios.query import Query
from tests.scenarios.reference_input import Arrival
from tests.scenarios.running import Mishaps, Run
from tests.scenarios.stepping import NO_MISHAPS, final, steps

EMPTY: Final = Script(allow_illegal=True)


def query_of(module: StreamOperator[Any, Any, Any], **query_parts: Any) -> Query:
    return replace(Query(Unwindowed(), (module,), lifetimes="points", has_order=True), **query_parts)


def points(*times: int, key: str = "a", script: Script = EMPTY) -> Script:
    """Add a point at each time, whose payload is its time, to a script."""
    for time in times:
        script = script.point((key, time), time, time, key=key)
    return script


def emitted(query: Query, script: Script, **options: Any) -> list[list[tuple[int, Any]]]:
    """Return the starts and values of the results of each micro-batch."""
    results: list[list[tuple[int, Any]]] = []
    for run in steps(query, script, **options):
        results.append([(row["lifetime"]["start"], row["value"]) for row in run.output_changes])
    return results


class RecordedSilence(Silence):
    """A silence that records the times of its wake-ups."""

    name = "test.recorded_silence"
    wake_ups: ClassVar[list[int]] = []

    def on_time(self, state: Any, time: int) -> Any:
        self.wake_ups.append(time)
        return super().on_time(state, time)


def test_only_keys_whose_wake_up_is_due_are_woken() -> None:
    RecordedSilence.wake_ups[:] = []
    script = EMPTY
    for number in range(50):  # they ask for wake-ups at 1010 to 1059
        script = points(10 + number, key=f"k{number}", script=script)
    script = script.punctuate(500).batch().punctuate(1009).batch().punctuate(1012)
    list(steps(query_of(RecordedSilence(length=1000)), script))
    assert sorted(RecordedSilence.wake_ups) == [1010, 1011, 1012]


class AlwaysAsksFor5(Newest):
    """Asks for the time 5, however late it is, and whether it was woken for that or not."""

    name = "test.always_asks_for_5"

    def next_time(self, state: list[int]) -> int:
        return 5

    def on_time(self, state: list[int], time: int) -> list[int]:
        return [-time]


def reminders(*times: tuple[int, int], script: Script = EMPTY) -> Script:
    """Add a point for each pair to a script: at its first time, a reminder is asked for at its second one."""
    for number, (time, due) in enumerate(times):
        script = script.point((time, number), time, due, key="a")
    return script


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_a_wake_up_for_a_time_that_has_passed_comes_with_the_next_progress(restarts: float) -> None:
    """Each event asks for a reminder: a for 4, b for 25, and c for 25, which has been answered once before.

    0    5    10   15   20   25   30
              a  b           !  c
               !                 !      reminders
    """
    script = reminders((10, 4), (13, 25)).punctuate(10).batch().punctuate(11).batch().punctuate(25).batch()
    script = reminders((28, 25), script=script).punctuate(40)
    assert emitted(query_of(Reminders()), script, restarts=restarts) == [
        [],
        [(11, "due 4")],
        [(25, "due 25")],
        [(29, "due 25")],
    ]


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_a_time_that_is_asked_for_again_and_again_is_answered_once(restarts: float) -> None:
    script = points(7).punctuate(9).batch()
    script = points(9, script=script).punctuate(12).batch().close()
    wake_up = (8, -8)
    assert emitted(query_of(AlwaysAsksFor5()), script, restarts=restarts) == [[(7, 7), wake_up], [(9, 9)], []]


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_all_wake_ups_that_wait_come_at_the_end_of_the_stream_in_order(restarts: float) -> None:
    script = reminders((1, 60), (2, 40), (3, 50), (3, 2)).batch().close()
    wake_ups = [(4, "due 2"), (40, "due 40"), (50, "due 50"), (60, "due 60")]
    assert emitted(query_of(Reminders()), script, restarts=restarts) == [[], wake_ups]


def run_with_most_wake_ups(query: Query, most_wake_ups: int) -> Run:
    """Return a run that allows a key so many wake-ups in a micro-batch, and one more for each of its events."""
    run = Run(query, query.plan(), NO_MISHAPS)
    run.task = replace(run.task, worker=WorkerSettings(most_wake_ups=most_wake_ups))
    return run


class Endless(Ticker):
    """Asks for a wake-up at each multiple of a period, and does not say that this has no end."""

    name = "test.endless"
    is_periodic = False


def test_an_operator_that_asks_for_wake_ups_without_end_is_an_error_at_the_end_of_the_stream() -> None:
    query = query_of(Endless(period=10))
    run = run_with_most_wake_ups(query, 50)
    with pytest.raises(ModuleContractError) as failed:
        list(steps(query, points(0).close(), run=run))
    message = str(failed.value)
    assert message.startswith("test.endless 1 asks for wake-ups without end: the stream has ended")
    assert "woken at 510, it asks for 520" in message
    assert "is_periodic = True" in message


def test_an_operator_that_asks_for_wake_ups_without_end_is_an_error_in_the_reference_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("muntin.testing.stream_operator_run.MOST_WAKE_UPS", 50)
    script = Script().point("a", 0, 1).close()
    with pytest.raises(ModuleContractError, match=r"test.endless 1 asks for wake-ups without end"):
        script.run(WindowedQuery.unwindowed(Endless(period=10)))


def test_a_state_that_an_earlier_version_of_the_engine_stored_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    query = query_of(Reminders())
    with monkeypatch.context() as earlier_version:
        data_of_state = OperatorState.follower_data

        def data_without_answered_time(*args: Any, **named: Any) -> Any:
            return data_of_state(*args, **named)[:3]

        earlier_version.setattr(OperatorState, "follower_data", data_without_answered_time)
        earlier_run = final(query, reminders((10, 25)).punctuate(11))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.cells = earlier_run.cells
    assert emitted(query, Script().punctuate(30), run=run) == [[(25, "due 25")]]


class Newer(Silence):
    """A later version of `Silence`, which adds 100 to the time that version 1 stored, as a mark of the upgrade."""

    version = "2"

    def upgrade_state(self, state: Any, version: str) -> dict[str, int]:
        assert version == "1"
        return {"last": state["last"] + 100}


def test_a_newer_version_goes_on_with_the_upgraded_state() -> None:
    earlier_run = final(query_of(Silence(length=4)), points(1).punctuate(3))
    query = query_of(Newer(length=4))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.cells = earlier_run.cells
    assert emitted(query, Script().punctuate(5), run=run) == [[(5, "silent since 101")]]


@pytest.mark.parametrize(
    ("first_key", "second_key", "pattern"),
    [("a", "b", "a"), (("a", 1), ("b", 1), (KeyRange(None, "b"), ...))],
    ids=["a key", "a range of keys"],
)
def test_a_key_that_is_punctuated_is_followed_ahead_of_the_others(
    first_key: Any, second_key: Any, pattern: Any
) -> None:
    key_columns = len(first_key) if isinstance(first_key, tuple) else 1
    query = query_of(Silence(length=4), progress=Punctuated().with_key_punctuation(), keys=key_columns)
    script = Script().point(1, 1, payload=0, key=first_key).point(2, 1, payload=1, key=second_key).punctuate(0)
    script = script.punctuate(9, key=pattern).batch().punctuate(5)
    keys_by_batch: list[list[Any]] = []
    for run in steps(query, script):
        keys_by_batch.append([row.key for row in run.inserted])
    assert keys_by_batch == [[first_key], [second_key]]


class Failing(Newest):
    """An operator that fails for each event."""

    name = "test.failing"

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        yield 1 // 0


def test_a_call_that_fails_is_named_with_its_key_and_its_tick() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_event.*ZeroDivisionError") as failed:
        final(query_of(Failing()), points(4).close())
    assert failed.value.key == ("a",)
    assert failed.value.window is not None
    assert failed.value.window.start == 4


class ReturnsPast(Newest):
    """An operator that returns an event of the tick before the one that it was called for."""

    name = "test.returns_past"

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        return [Event.point(time - 1, payload)]


class AsksFor(Newest):
    """An operator that asks to be woken at a time of any type."""

    name = "test.asks_for"

    def __init__(self, time: Any) -> None:
        self.time = time

    def next_time(self, state: list[int]) -> Any:
        return self.time


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (ReturnsPast(), r"test.returns_past 1 returned an event that starts at 3, before its cause at 4"),
        (AsksFor(7.5), r"test.asks_for 1 returned 7.5 from next_time"),
        (AsksFor(True), r"test.asks_for 1 returned True from next_time"),
        (AsksFor(timedelta(minutes=10)), r"(?s)returned .*timedelta.* from next_time at 4, which is a length.*ticks\("),
    ],
    ids=["an event before its cause", "a fraction", "a truth value", "a length of time"],
)
def test_an_event_or_a_wake_up_that_the_contract_forbids_is_refused(
    module: StreamOperator[Any, Any, Any], message: str
) -> None:
    with pytest.raises(ModuleContractError, match=message):
        final(query_of(module), points(4).close())


def test_explain_says_in_which_order_and_when_events_are_handed_over_and_what_is_complete() -> None:
    topics = dict(line.split(maxsplit=1) for line in explain_plan(query_of(Silence()).plan()).splitlines())
    assert topics["window"] == "none, each event by itself, emit final"
    assert topics["order"] == "by time, and at one time by order; an event is handed over when the watermark passes it"
    assert topics["evaluator"] == "event_by_event: test.silence 1 keeps a state, or asks for wake-ups"
    assert topics["output"].startswith("is complete up to the watermark, as no row starts before the event")
    assert topics["lag"] == "none"


@pytest.mark.parametrize(
    ("query_parts", "error", "message"),
    [
        ({"lifetimes": "samples"}, QueryError, "follows events at points in time, and these are samples"),
        ({"late": correct(5)}, PolicyError, r"would hand events over to test\.newest 1 after later ones"),
        ({"emit": EmitPolicy.EAGER}, PolicyError, "emit='eager' would be before that"),
        ({"window": tumbling(5)}, PolicyError, "it needs a stream without windows"),
    ],
)
def test_streams_and_policies_under_which_events_do_not_come_in_order_are_refused(
    query_parts: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        query_of(Newest(), **query_parts).plan()


DAY: Final = 24 * 60 * 60 * 10**6


def test_more_wake_ups_of_a_key_in_a_micro_batch_than_the_limit_are_an_error() -> None:
    """
    0     3                               day
    a ! ! a ! ! ! ! ! ! ! ! ! ! ! ! ...   watermark
    """
    query = query_of(Ticker(period=1))
    run = run_with_most_wake_ups(query, 1000)
    with pytest.raises(ModuleContractError) as failed:
        list(steps(query, points(0, 3).punctuate(DAY), run=run))
    assert str(failed.value).splitlines()[:3] == [
        "test.ticker 1 asked for more than 1,000 wake-ups of one key in one micro-batch",
        "  key: ('a',)",
        "  woken at 1002, it asks for 1003; the watermark is 86400000000",
    ]


def test_more_wake_ups_than_the_limit_are_an_error_in_the_reference_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.testing.stream_operator_run.MOST_WAKE_UPS", 1000)
    script = Script().point("a", 0, 1).punctuate(DAY)
    with pytest.raises(ModuleContractError, match=r"test.ticker 1 asked for more than 1,000 wake-ups"):
        script.run(WindowedQuery.unwindowed(Ticker(period=1)))


def test_as_many_wake_ups_as_events_are_never_too_many() -> None:
    query = query_of(Silence(length=1))
    run = run_with_most_wake_ups(query, 0)
    twenty_times = range(0, 40, 2)  # each event is followed by a silence of a tick, and so by a wake-up
    script = points(*twenty_times, key="b", script=points(*twenty_times, key="a")).punctuate(99)
    assert [len(run.output_changes) for run in steps(query, script, run=run)] == [2 * 20]


# Operators that are called at starts and ends of events.


class FailingAtEnds(Level):
    """An operator that fails at the end of each event."""

    name = "test.failing"

    def on_end(self, state: list[int], payload: int, time: int) -> Any:
        return [1 // 0]


def test_an_end_that_fails_is_named_with_its_method_and_its_tick() -> None:
    query = Query(Unwindowed(), (FailingAtEnds(),), lifetimes="intervals", has_order=True)
    run = Run(query, query.evaluators["event_by_event"], Mishaps(crashes=0.0))
    (batch,) = Script().insert(1, start=1, end=5, payload=3).close().batches()
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_end.*ZeroDivisionError") as failed:
        run.process(Arrival((batch,)))
    assert failed.value.window is not None
    assert failed.value.window.start == 5


def test_explain_says_that_an_operator_is_called_at_starts_and_ends() -> None:
    query = Query(Unwindowed(), (Level(),), lifetimes="samples", has_order=True)
    explanation = explain_plan(query.plan())
    calls = "called with the start and the end of each event of a key, each when the watermark has passed it"
    assert calls in explanation
    assert "the events whose ends wait for the watermark" in explanation
