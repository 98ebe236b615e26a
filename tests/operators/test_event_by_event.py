"""Stream operators on the engine: what the reference gives, whatever the disorder, the micro-batches and restarts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, EmitPolicy, Event, StreamOperator, correct, tumbling
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError, QueryError
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.ordered.stream_operator import OperatorCalls, StreamBucket
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing import RestartError, crash_everywhere
from muntin_engine.workers.settings import WorkerSettings
from tests.operators.streams import Result, Row, Step, drive, meant, plan_of
from tests.sdk.stream_operators import Gaps, Newest, Silence, Ticker
from tests.spark_units.tasks import task_of

OPERATORS: list[StreamOperator[Any, Any, Any]] = [Newest(), Silence(6), Gaps(4), Ticker(5)]


def at(*times: int, key: str = "a", first: int = 0) -> list[Row]:
    return [Row(key, id, time, time) for id, time in enumerate(times, first)]


@pytest.mark.parametrize("module", OPERATORS, ids=lambda module: module.name)
def test_a_restart_or_a_crash_at_each_step_does_not_show(module: StreamOperator[Any, Any, Any]) -> None:
    script = Script().point("a", 1, 2).point("b", 9, 4).punctuate(8).point("c", 8, 7, key="k").retract("b").close()
    survived = crash_everywhere(script, WindowedQuery.unwindowed(module))
    assert survived.evaluators == ("event_by_event",)


class OnSelf(Newest):
    name = "test.on_self"

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[int]:
        self.seen += 1
        return [self.seen]


def test_one_that_remembers_elsewhere_is_found() -> None:
    script = Script().point("a", 1, 2).punctuate(2).point("b", 3, 3).point("c", 4, 1).close()
    with pytest.raises(RestartError, match="of no windows, evaluator event_by_event"):
        crash_everywhere(script, WindowedQuery.unwindowed(OnSelf()))


# a     0      5     10        rows come as 9, 2 | 4; the watermark says 5, then 11
def test_events_wait_for_the_watermark_and_come_in_order_of_time() -> None:
    steps = [Step([Row("a", 0, 9, 9), Row("a", 1, 2, 2)], EARLIEST), Step([Row("a", 2, 4, 4)], 5), Step([], 11)]
    run = drive(plan_of(Listing()), steps)
    assert [row.value for row in run.output] == ["2", "4", "9"]
    assert run.watermarks == [EARLIEST, 5, 11]


class Listing(StreamOperator[int, list[int], str]):
    name, version = "test.listing", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[str]:
        yield str(payload)


def test_events_of_one_time_come_in_their_order_and_without_one_in_that_of_their_values() -> None:
    rows = [Row("a", 2, 5, 30), Row("a", 0, 5, 20), Row("a", 1, 5, 10)]
    ordered = drive(plan_of(Listing()), [Step(rows, INFINITY)]).output
    assert [row.value for row in ordered] == ["20", "10", "30"]
    plain = plan_of(Listing(), input={"order": None})
    for some in (rows, rows[::-1]):
        assert [row.value for row in drive(plain, [Step(some, INFINITY)]).output] == ["10", "20", "30"]


def test_an_event_that_is_retracted_before_the_watermark_passes_it_is_not_handed_over() -> None:
    taken_back = Row("a", 1, 5, 5, is_retracted=True)
    steps = [Step(at(3, 5), 4), Step([taken_back], 6), Step([taken_back._replace(id=0, time=3)], INFINITY)]
    run = drive(plan_of(Listing()), steps)
    assert [row.value for row in run.output] == ["3"]
    assert run.late == [0]  # that one was handed over before


def test_late_rows_are_rejected_and_wake_no_one() -> None:
    run = drive(plan_of(Silence(4)), [Step(at(1), 3), Step(at(2, first=9), 4), Step([], 6)])
    assert run.late == [9]
    assert run.output == [Result("a", 5, 6, "silent since 1")]


def test_a_key_is_forgotten_when_its_state_is_empty_and_only_then() -> None:
    run = drive(plan_of(Silence(4)), [Step([*at(1), *at(3, key="b")], 4), Step([], 5), Step([], 7)])
    assert run.held == [2, 1, 0]
    assert drive(plan_of(Gaps(4)), [Step([*at(1), *at(3, key="b")], 4), Step([], 99)]).held == [2, 2]


# a wake-up at 5 is called when the watermark says 5: no event before 5 can come any more
def test_a_wake_up_is_called_when_the_watermark_reaches_it_without_a_row() -> None:
    steps = [Step(at(1), 3), Step([], 4), Step([], 5), Step(at(5, first=1), 9)]
    run = drive(plan_of(Silence(4)), steps)
    assert run.output == [Result("a", 5, 6, "silent since 1"), Result("a", 9, 10, "silent since 5")]


def test_only_keys_with_events_or_a_wake_up_that_is_due_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(f"k{number}", number, 10 + number, 0) for number in range(200)]
    called: list[object] = []
    plain = OperatorCalls.on_time

    def on_time(self: OperatorCalls, key: object, *more: Any) -> list[Any]:
        called.append(key)
        return plain(self, key, *more)

    monkeypatch.setattr(OperatorCalls, "on_time", on_time)
    drive(plan_of(Silence(1000)), [Step(rows, 500), Step([], 1009), Step([], 1012)])
    assert called == [("k0",), ("k1",), ("k2",)]


def test_a_busy_key_appends_to_what_it_has_and_is_read_back() -> None:
    many = [Row("a", number, number % 97, number) for number in range(1500)]
    steps = [Step(many[:1000], 0), *(Step(many[1000 + 50 * n : 1050 + 50 * n], 0) for n in range(10)), Step([], 40)]
    steps += [Step([], INFINITY)]
    expected = meant(Newest(), steps)
    assert len(expected) == 1500
    assert drive(plan_of(Newest()), steps).output == drive(plan_of(Newest()), steps, restarts=True).output == expected


@dataclass
class Cycle:
    """The state of a machine, and the rows of its last calls."""

    name: str = "idle"
    seen: list[int] = field(default_factory=list)


class Machine(StreamOperator[int | None, Cycle, list[int]]):
    """Skips nulls if it must; its rows are lists, and its state a record."""

    name, version = "test.machine", "2"

    def create_state(self) -> Cycle:
        return Cycle()

    def on_event(self, state: Cycle, payload: int | None, time: int) -> Iterable[Event[list[int]]]:
        state.seen.append(-1 if payload is None else payload)
        yield Event(time, INFINITY, state.seen)  # a list that goes on to change


def test_rows_are_what_they_were_when_they_were_returned() -> None:
    steps = [Step(at(1, 2), 3), Step(at(4, first=2), INFINITY)]
    found = [(row.start, row.end, row.value) for row in drive(plan_of(Machine()), steps, restarts=True).output]
    assert found == [(1, INFINITY, [1]), (2, INFINITY, [1, 2]), (4, INFINITY, [1, 2, 4])]


class Newer(Silence):
    """Adds a hundred to a time that version 1 kept, so that one can tell."""

    version = "2"

    def upgrade_state(self, state: Any, version: str) -> dict[str, int]:
        assert version == "1"
        return {"last": state["last"] + 100}


def test_a_newer_version_goes_on_with_the_upgraded_state() -> None:
    cells = MemoryCells()
    assert drive(plan_of(Silence(4)), [Step(at(1), 3)], cells=cells).output == []
    assert drive(plan_of(Newer(4)), [Step([], 5)], cells=cells).output == [Result("a", 5, 6, "silent since 101")]


@pytest.mark.parametrize("said", [{"key_watermarks": [(("a",), 9)]}, {"patterns": [([(None, "b")], 9)]}])
def test_a_key_that_is_punctuated_is_followed_ahead_of_the_others(said: dict[str, Any]) -> None:
    plan = plan_of(Silence(4))
    query = plan.evaluator_query([Meter()])
    bucket = StreamBucket(query, MemoryCells(), Codec(set()), plan_identity(plan))
    rows = [((key,), [InputChange(id, 1, 2, (0, id))]) for id, key in enumerate("ab")]
    result = bucket.process(rows, Progress(0, 2, 1), **said)
    assert [(key, change.start) for key, (change,) in result.output] == [(("a",), 5)]
    assert result.watermark == 0
    assert [key for key, _ in bucket.process([], Progress(5, 9, 1)).output] == [("b",)]


class Failing(Newest):
    name = "test.failing"

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        yield 1 // 0


def test_a_call_that_fails_is_named_with_its_key_and_its_tick() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_event.*ZeroDivisionError") as failed:
        drive(plan_of(Failing()), [Step(at(4), INFINITY)])
    assert failed.value.window is not None
    assert (failed.value.key, failed.value.window.start) == (("a",), 4)


class Past(Newest):
    name = "test.past"

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        return [Event.point(time - 1, payload)]


class Soon(Newest):
    name = "test.soon"

    def next_time(self, state: list[int]) -> Any:
        return 7.5


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Past(), r"test.past 1 returned an event that starts at 3, before its cause at 4"),
        (Soon(), r"test.soon 1 returned 7.5 from next_time"),
    ],
    ids=["past", "soon"],
)
def test_what_the_contract_forbids_is_refused(module: StreamOperator[Any, Any, Any], message: str) -> None:
    with pytest.raises(ModuleContractError, match=message):
        drive(plan_of(module), [Step(at(4), INFINITY)])


def test_explain_says_what_it_does_to_the_watermark() -> None:
    told = dict(line.split(maxsplit=1) for line in explain_plan(plan_of(Silence())).splitlines())
    assert told["window"] == "none, each event by itself, emit final"
    assert told["order"] == "by time, and at one time by id; an event is handed over when the watermark passes it"
    assert told["evaluator"] == "event_by_event: test.silence 1 keeps a state, or asks for wake-ups"
    assert told["output"].startswith("is complete up to the watermark, as no row starts before the event")
    assert told["lag"] == "none"


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(QueryError, match="follows events at points in time, and these are samples"):
        plan_of(Newest(), input={"is_edge": True})
    with pytest.raises(PolicyError, match=r"would hand events over to test\.newest 1 after later ones"):
        plan_of(Newest(), input={"late": correct(5)})
    with pytest.raises(PolicyError, match="emit='eager' would be before that"):
        plan_of(Newest(), emit=EmitPolicy.EAGER)
    with pytest.raises(PolicyError, match="it needs a stream without windows"):
        WindowedQuery(tumbling(5), [Computation(Newest())])


def bucket_of(module: StreamOperator[Any, Any, Any], most_wake_ups: int) -> StreamBucket:
    plan = plan_of(module)
    query = replace(plan.evaluator_query([Meter()]), most_wake_ups=most_wake_ups)
    return StreamBucket(query, MemoryCells(), Codec(), plan_identity(plan))


#  0     3                               day
#  a ! ! a ! ! ! ! ! ! ! ! ! ! ! ! ...   watermark
def test_a_wake_up_that_renews_itself_is_an_error_once_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    day = 24 * 60 * 60 * 10**6
    rows = [(("a",), [InputChange(time, time, time + 1, (1, 1, True)) for time in (0, 3)])]
    with pytest.raises(ModuleContractError) as failed:
        bucket_of(Ticker(1), 1000).process(rows, Progress(day, day, day))
    assert str(failed.value).splitlines()[:3] == [
        "test.ticker 1 asked for more than 1,000 wake-ups of one key in one micro-batch",
        "  key: ('a',)",
        "  woken at 1002, it asks for 1003; the watermark is 86400000000",
    ]
    monkeypatch.setattr("muntin.testing.stream_operator_run.MOST_WAKE_UPS", 1000)
    with pytest.raises(ModuleContractError, match=r"test.ticker 1 asked for more than 1,000 wake-ups"):
        Script().point("a", 0, 1).punctuate(day).run(WindowedQuery.unwindowed(Ticker(1)))


def test_as_many_wake_ups_as_events_are_never_too_many() -> None:
    rows = [((key,), [InputChange(key, time, time + 1, (1, 1, True))]) for time in range(0, 40, 2) for key in "ab"]
    output = bucket_of(Silence(1), 0).process(rows, Progress(99, 99, 99)).output
    assert sum(len(some) for _, some in output) == 40


def test_a_session_sets_the_limit_of_wake_ups() -> None:
    task = task_of(Ticker(1), evaluator="event_by_event", worker=WorkerSettings(most_wake_ups=7))
    assert task.query.most_wake_ups == 7
