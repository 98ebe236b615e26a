"""Stream operators on the engine: what the reference gives, whatever the disorder, the micro-batches and restarts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import pytest

from muntin import INFINITY, EmitPolicy, Event, StreamOperator, correct, tumbling
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError, QueryError
from muntin.progress import Punctuated
from muntin.testing import KeyRange, Script, WindowedQuery
from muntin.windows.specification import Unwindowed
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.testing import RestartError, crash_everywhere
from muntin_engine.workers.settings import WorkerSettings
from tests.scenarios.query import Query
from tests.scenarios.running import Run
from tests.scenarios.stepping import AS_IT_IS, final, steps
from tests.sdk.stream_operators import Gaps, Newest, Silence, Ticker

NOTHING: Final = Script(allow_illegal=True)
OPERATORS: list[StreamOperator[Any, Any, Any]] = [Newest(), Silence(6), Gaps(4), Ticker(5)]


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


class Listing(StreamOperator[int, list[int], str]):
    """Each payload as text."""

    name, version = "test.listing", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[str]:
        yield str(payload)


def of(module: StreamOperator[Any, Any, Any], **changed: Any) -> Query:
    return replace(Query(Unwindowed(), (module,), lifetimes="points", has_order=True), **changed)


def points(*times: int, key: str = "a", script: Script = NOTHING) -> Script:
    """Return a script with a point at each time, whose payload is its time."""
    for time in times:
        script = script.point((key, time), time, time, key=key)
    return script


def emitted(query: Query, script: Script, **given: Any) -> list[list[tuple[int, Any]]]:
    """Return the starts and values of what each micro-batch emits."""
    return [[(row["lifetime"]["start"], row["value"]) for row in run.told] for run in steps(query, script, **given)]


def test_events_wait_for_the_watermark_and_come_in_order_of_time() -> None:
    """
    a     0      5     10        rows come as 9, 2 | 4; the watermark says 5, then 11
    """
    script = points(4, script=points(9, 2).batch()).punctuate(5).batch().punctuate(11)
    assert emitted(of(Listing()), script) == [[], [(2, "2"), (4, "4")], [(9, "9")]]


def test_events_of_one_time_come_in_their_order_and_without_one_in_that_of_their_values() -> None:
    script = Script().point(1, 5, 30).point(2, 5, {"x": 20, "order": 1}).point(3, 5, {"x": 10, "order": 2}).close()
    for query, expected in ((of(Listing()), ["20", "10", "30"]), (of(Listing(), has_order=False), ["10", "20", "30"])):
        assert [value for _, value in emitted(query, script)[0]] == expected


def test_late_rows_are_rejected_and_wake_no_one() -> None:
    script = points(2, script=points(1).punctuate(3).batch()).punctuate(4).batch().punctuate(6)
    runs = [(run.last["late"], len(run.told)) for run in steps(of(Silence(4)), script)]
    assert runs == [(0, 0), (1, 0), (0, 1)]


def test_a_key_is_forgotten_when_its_state_is_empty_and_only_then() -> None:
    script = points(3, key="b", script=points(1)).punctuate(4).batch().punctuate(5).batch().punctuate(7)
    assert [run.last["keys_held"] for run in steps(of(Silence(4)), script)] == [2, 1, 0]
    assert [run.last["keys_held"] for run in steps(of(Gaps(4)), script)] == [2, 2, 2]


def test_a_wake_up_is_called_when_the_watermark_reaches_it_without_a_row() -> None:
    """No event before 5 can come any more when the watermark says 5."""
    script = points(1).punctuate(3).batch().punctuate(4).batch().punctuate(5).batch()
    script = points(5, script=script).punctuate(9)
    assert emitted(of(Silence(4)), script) == [[], [], [(5, "silent since 1")], [(9, "silent since 5")]]


class Woken(Silence):
    """Counts how often it is called."""

    name = "test.woken"
    calls: ClassVar[list[int]] = []

    def on_time(self, state: Any, time: int) -> Any:
        self.calls.append(time)
        return super().on_time(state, time)


def test_only_keys_with_events_or_a_wake_up_that_is_due_are_called() -> None:
    script, Woken.calls[:] = NOTHING, []
    for number in range(50):
        script = points(10 + number, key=f"k{number}", script=script)
    list(steps(of(Woken(1000)), script.punctuate(500).batch().punctuate(1009).batch().punctuate(1012)))
    assert sorted(Woken.calls) == [1010, 1011, 1012]


@dataclass
class Cycle:
    """The state of a machine, and the rows of its last calls."""

    name: str = "idle"
    seen: list[int] = field(default_factory=list)


class Machine(StreamOperator[int | None, Cycle, list[int]]):
    """Returns lists that it goes on to change; its state is a record."""

    name, version = "test.machine", "2"

    def create_state(self) -> Cycle:
        return Cycle()

    def on_event(self, state: Cycle, payload: int | None, time: int) -> Iterable[Event[list[int]]]:
        state.seen.append(-1 if payload is None else payload)
        yield Event(time, INFINITY, state.seen)


def test_rows_are_what_they_were_when_they_were_returned() -> None:
    script = points(4, script=points(1, 2).punctuate(3).batch()).close()
    assert emitted(of(Machine()), script, restarts=1.0) == [[(1, [1]), (2, [1, 2])], [(4, [1, 2, 4])]]


class Newer(Silence):
    """Adds a hundred to a time that version 1 kept, so that one can tell."""

    version = "2"

    def upgrade_state(self, state: Any, version: str) -> dict[str, int]:
        assert version == "1"
        return {"last": state["last"] + 100}


def test_a_newer_version_goes_on_with_the_upgraded_state() -> None:
    old, query = final(of(Silence(4)), points(1).punctuate(3)), of(Newer(4))
    run = Run(query, query.plan(), AS_IT_IS)
    run.cells = old.cells
    assert emitted(query, Script().punctuate(5), run=run) == [[(5, "silent since 101")]]


@pytest.mark.parametrize(("key", "keys"), [("a", 1), ((KeyRange(None, "b"), ...), 2)])
def test_a_key_that_is_punctuated_is_followed_ahead_of_the_others(key: Any, keys: int) -> None:
    query = of(Silence(4), progress=Punctuated().with_key_punctuation(), keys=keys)
    of_keys = [(name, 1) if keys > 1 else name for name in "ab"]
    script = Script().point(1, 1, 0, key=of_keys[0]).point(2, 1, 1, key=of_keys[1]).punctuate(0)
    script = script.punctuate(9, key=key).batch().punctuate(5)
    assert [[row.key for row in run.inserted] for run in steps(query, script)] == [[of_keys[0]], [of_keys[1]]]


class Failing(Newest):
    name = "test.failing"

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        yield 1 // 0


def test_a_call_that_fails_is_named_with_its_key_and_its_tick() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_event.*ZeroDivisionError") as failed:
        final(of(Failing()), points(4).close())
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
        final(of(module), points(4).close())


def test_explain_says_what_it_does_to_the_watermark() -> None:
    told = dict(line.split(maxsplit=1) for line in explain_plan(of(Silence()).plan()).splitlines())
    assert told["window"] == "none, each event by itself, emit final"
    assert told["order"] == "by time, and at one time by order; an event is handed over when the watermark passes it"
    assert told["evaluator"] == "event_by_event: test.silence 1 keeps a state, or asks for wake-ups"
    assert told["output"].startswith("is complete up to the watermark, as no row starts before the event")
    assert told["lag"] == "none"


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
        of(Newest(), **changed).plan()


#  0     3                               day
#  a ! ! a ! ! ! ! ! ! ! ! ! ! ! ! ...   watermark
def test_a_wake_up_that_renews_itself_is_an_error_once_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    day, query = 24 * 60 * 60 * 10**6, of(Ticker(1))
    run = Run(query, query.plan(), AS_IT_IS)
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
    query = of(Silence(1))
    run = Run(query, query.plan(), AS_IT_IS)
    run.task = replace(run.task, worker=WorkerSettings(most_wake_ups=0))
    script = points(*range(0, 40, 2), key="b", script=points(*range(0, 40, 2))).punctuate(99)
    assert [len(run.told) for run in steps(query, script, run=run)] == [40]
