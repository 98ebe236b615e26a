"""What operators that follow a stream are called for, what is refused, and what is said; the net has the rest."""

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

NOTHING: Final = Script(allow_illegal=True)


def query_of(module: StreamOperator[Any, Any, Any], **changed: Any) -> Query:
    return replace(Query(Unwindowed(), (module,), lifetimes="points", has_order=True), **changed)


def points(*times: int, key: str = "a", script: Script = NOTHING) -> Script:
    """Return a script with a point at each time, whose payload is its time."""
    for time in times:
        script = script.point((key, time), time, time, key=key)
    return script


def emitted(query: Query, script: Script, **options: Any) -> list[list[tuple[int, Any]]]:
    """Return the starts and values of the results of each micro-batch."""
    results: list[list[tuple[int, Any]]] = []
    for run in steps(query, script, **options):
        results.append([(row["lifetime"]["start"], row["value"]) for row in run.output_changes])
    return results


class Woken(Silence):
    """A silence that notes its wake-ups."""

    name = "test.woken"
    calls: ClassVar[list[int]] = []

    def on_time(self, state: Any, time: int) -> Any:
        self.calls.append(time)
        return super().on_time(state, time)


def test_only_keys_with_events_or_a_wake_up_that_is_due_are_called() -> None:
    script = NOTHING
    Woken.calls[:] = []
    for number in range(50):
        script = points(10 + number, key=f"k{number}", script=script)
    list(steps(query_of(Woken(1000)), script.punctuate(500).batch().punctuate(1009).batch().punctuate(1012)))
    assert sorted(Woken.calls) == [1010, 1011, 1012]


class Stale(Newest):
    """Asks for the time 5, however late it is, and whether it was woken for that or not."""

    name = "test.stale"

    def next_time(self, state: list[int]) -> int:
        return 5

    def on_time(self, state: list[int], time: int) -> list[int]:
        return [-time]


def due(*points: tuple[int, int], script: Script = NOTHING) -> Script:
    """Return a script with a point at each time, whose payload is the time at which something is due."""
    for number, (time, payload) in enumerate(points):
        script = script.point((time, number), time, payload, key="a")
    return script


#  0    5    10   15   20   25   30
#            a  b           !  c            due: a at 4, b at 25, c at 25, which has been answered once before
#             !                 !
@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_a_time_that_has_passed_is_answered_with_the_next_progress(restarts: float) -> None:
    script = due((10, 4), (13, 25)).punctuate(10).batch().punctuate(11).batch().punctuate(25).batch()
    script = due((28, 25), script=script).punctuate(40)
    assert emitted(query_of(Reminders()), script, restarts=restarts) == [
        [],
        [(11, "due 4")],
        [(25, "due 25")],
        [(29, "due 25")],
    ]


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_a_time_that_is_asked_for_again_and_again_is_answered_once(restarts: float) -> None:
    script = points(7).punctuate(9).batch()
    script = points(9, script=script).punctuate(12).batch()
    assert emitted(query_of(Stale()), script.close(), restarts=restarts) == [[(7, 7), (8, -8)], [(9, 9)], []]


@pytest.mark.parametrize("restarts", [0.0, 1.0])
def test_all_wake_ups_that_wait_come_at_the_end_of_the_stream_in_order(restarts: float) -> None:
    script = due((1, 60), (2, 40), (3, 50), (3, 2)).batch().close()
    ends = [(4, "due 2"), (40, "due 40"), (50, "due 50"), (60, "due 60")]
    assert emitted(query_of(Reminders()), script, restarts=restarts) == [[], ends]


class Endless(Ticker):
    """Asks again and again, and does not say so."""

    name = "test.endless"
    is_periodic = False


def test_an_operator_that_asks_without_end_is_an_error_at_the_end_of_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = query_of(Endless(10))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.task = replace(run.task, worker=WorkerSettings(most_wake_ups=50))
    with pytest.raises(ModuleContractError) as failed:
        list(steps(query, points(0).close(), run=run))
    message = str(failed.value)
    assert message.startswith("test.endless 1 asks for wake-ups without end: the stream has ended")
    assert "woken at 510, it asks for 520" in message
    assert "is_periodic = True" in message
    monkeypatch.setattr("muntin.testing.stream_operator_run.MOST_WAKE_UPS", 50)
    with pytest.raises(ModuleContractError, match=r"test.endless 1 asks for wake-ups without end"):
        Script().point("a", 0, 1).close().run(WindowedQuery.unwindowed(Endless(10)))


def test_a_state_that_an_earlier_version_of_the_engine_stored_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no answered time."""
    query = query_of(Reminders())
    with monkeypatch.context() as earlier:
        whole = OperatorState.follower_data
        earlier.setattr(OperatorState, "follower_data", lambda *args, **named: whole(*args, **named)[:3])
        old = final(query, due((10, 25)).punctuate(11))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.cells = old.cells
    assert emitted(query, Script().punctuate(30), run=run) == [[(25, "due 25")]]


class Newer(Silence):
    """Adds a hundred to a time that version 1 kept, so that one can tell."""

    version = "2"

    def upgrade_state(self, state: Any, version: str) -> dict[str, int]:
        assert version == "1"
        return {"last": state["last"] + 100}


def test_a_newer_version_goes_on_with_the_upgraded_state() -> None:
    old = final(query_of(Silence(4)), points(1).punctuate(3))
    query = query_of(Newer(4))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.cells = old.cells
    assert emitted(query, Script().punctuate(5), run=run) == [[(5, "silent since 101")]]


@pytest.mark.parametrize(("key", "keys"), [("a", 1), ((KeyRange(None, "b"), ...), 2)])
def test_a_key_that_is_punctuated_is_followed_ahead_of_the_others(key: Any, keys: int) -> None:
    query = query_of(Silence(4), progress=Punctuated().with_key_punctuation(), keys=keys)
    first_key, second_key = ("a", "b") if keys == 1 else (("a", 1), ("b", 1))
    script = Script().point(1, 1, 0, key=first_key).point(2, 1, 1, key=second_key).punctuate(0)
    script = script.punctuate(9, key=key).batch().punctuate(5)
    assert [[row.key for row in run.inserted] for run in steps(query, script)] == [[first_key], [second_key]]


class Failing(Newest):
    name = "test.failing"

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        yield 1 // 0


def test_a_call_that_fails_is_named_with_its_key_and_its_tick() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_event.*ZeroDivisionError") as failed:
        final(query_of(Failing()), points(4).close())
    assert failed.value.window is not None
    assert (failed.value.key, failed.value.window.start) == (("a",), 4)


class Past(Newest):
    name = "test.past"

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        return [Event.point(time - 1, payload)]


class Soon(Newest):
    name = "test.soon"

    def __init__(self, answer: Any = 7.5) -> None:
        self.answer = answer

    def next_time(self, state: list[int]) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Past(), r"test.past 1 returned an event that starts at 3, before its cause at 4"),
        (Soon(), r"test.soon 1 returned 7.5 from next_time"),
        (Soon(True), r"test.soon 1 returned True from next_time"),
        (Soon(timedelta(minutes=10)), r"(?s)returned .*timedelta.* from next_time at 4, which is a length.*ticks\("),
    ],
    ids=["past", "soon", "truth", "length"],
)
def test_what_the_contract_forbids_is_refused(module: StreamOperator[Any, Any, Any], message: str) -> None:
    with pytest.raises(ModuleContractError, match=message):
        final(query_of(module), points(4).close())


def test_explain_says_what_it_does_to_the_watermark() -> None:
    topics = dict(line.split(maxsplit=1) for line in explain_plan(query_of(Silence()).plan()).splitlines())
    assert topics["window"] == "none, each event by itself, emit final"
    assert topics["order"] == "by time, and at one time by order; an event is handed over when the watermark passes it"
    assert topics["evaluator"] == "event_by_event: test.silence 1 keeps a state, or asks for wake-ups"
    assert topics["output"].startswith("is complete up to the watermark, as no row starts before the event")
    assert topics["lag"] == "none"


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"lifetimes": "samples"}, QueryError, "follows events at points in time, and these are samples"),
        ({"late": correct(5)}, PolicyError, r"would hand events over to test\.newest 1 after later ones"),
        ({"emit": EmitPolicy.EAGER}, PolicyError, "emit='eager' would be before that"),
        ({"window": tumbling(5)}, PolicyError, "it needs a stream without windows"),
    ],
)
def test_what_cannot_be_followed_is_refused(changed: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        query_of(Newest(), **changed).plan()


#  0     3                               day
#  a ! ! a ! ! ! ! ! ! ! ! ! ! ! ! ...   watermark
def test_a_wake_up_that_renews_itself_is_an_error_once_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    day = 24 * 60 * 60 * 10**6
    query = query_of(Ticker(1))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.task = replace(run.task, worker=WorkerSettings(most_wake_ups=1000))
    with pytest.raises(ModuleContractError) as failed:
        list(steps(query, points(0, 3).punctuate(day), run=run))
    assert str(failed.value).splitlines()[:3] == [
        "test.ticker 1 asked for more than 1,000 wake-ups of one key in one micro-batch",
        "  key: ('a',)",
        "  woken at 1002, it asks for 1003; the watermark is 86400000000",
    ]
    monkeypatch.setattr("muntin.testing.stream_operator_run.MOST_WAKE_UPS", 1000)
    with pytest.raises(ModuleContractError, match=r"test.ticker 1 asked for more than 1,000 wake-ups"):
        Script().point("a", 0, 1).punctuate(day).run(WindowedQuery.unwindowed(Ticker(1)))


def test_as_many_wake_ups_as_events_are_never_too_many() -> None:
    query = query_of(Silence(1))
    run = Run(query, query.plan(), NO_MISHAPS)
    run.task = replace(run.task, worker=WorkerSettings(most_wake_ups=0))
    script = points(*range(0, 40, 2), key="b", script=points(*range(0, 40, 2))).punctuate(99)
    assert [len(run.output_changes) for run in steps(query, script, run=run)] == [40]


# Operators that are told of starts and ends: what the reference gives, however rows come, are revised, and are cut.


class FailingAtEnds(Level):
    name = "test.failing"

    def on_end(self, state: list[int], payload: int, time: int) -> Any:
        return [1 // 0]


def test_an_end_that_fails_is_named_with_its_method_and_its_tick() -> None:
    query = Query(Unwindowed(), (FailingAtEnds(),), lifetimes="intervals", has_order=True)
    run = Run(query, query.evaluators["event_by_event"], Mishaps(crashes=0.0))
    (batch,) = Script().insert(1, 1, 5, 3).close().batches()
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_end.*ZeroDivisionError") as failed:
        run.process(Arrival((batch,)))
    assert failed.value.window is not None
    assert failed.value.window.start == 5


def test_explain_says_that_starts_and_ends_are_told() -> None:
    explanation = explain_plan(Query(Unwindowed(), (Level(),), lifetimes="samples", has_order=True).plan())
    assert (
        "called with the start and the end of each event of a key, each when the watermark has passed it" in explanation
    )
    assert "the events whose ends wait for the watermark" in explanation
