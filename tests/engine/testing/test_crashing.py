"""`crash_everywhere`: which modules survive a restart after any step, which do not, and how the error shows that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st

from muntin import (
    INFINITY,
    Aggregate,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    IncrementalAggregate,
    Module,
    Operator,
    OutputContract,
    Refinement,
    TimestampPolicy,
    Window,
    count_by_start,
    hopping,
    landmark,
    session,
    snapshot,
    tumbling,
)
from muntin.changes import Insertion
from muntin.errors import ModuleContractError, PolicyError, StreamError
from muntin.events import Event
from muntin.testing import Computation, IncrementalAggregateLaws, LawError, Script, WindowedQuery, equal
from muntin.triggers import every, every_count, when
from muntin.windows import WindowKind
from muntin_engine import StateError
from muntin_engine.testing import RestartError, crash_everywhere, difference_search, random_stream
from muntin_engine.testing.stepwise_run import Mishap, reference_steps, run_steps
from tests.modules.every_shape import OWN_TIMES, SHAPES
from tests.modules.restarts import (
    Buffer,
    Cache,
    CombinesOnSelf,
    Locked,
    Mean,
    Negative,
    Opaque,
    Random,
    Shared,
    Total,
    TotalOnSelf,
    Turns,
)

POINTS = Script().point("a", 1, 2).point("b", 4, 3).punctuate(10).point("c", 17, 7, key="k").point("d", 12, 1).close()
NEGATIVE = Script().point("a", 1, 2).point("b", 2, -1).close()
REVISED = Script().insert("a", 1, 9, 2).insert("b", 3, INFINITY, 3).punctuate(2).revise("b", 6).retract("b").close()


def query(module: Module, window: WindowKind | None = None) -> WindowedQuery:
    """Return a query of a module, in tumbling windows of 10 if no others are given."""
    return WindowedQuery(window or tumbling(10), [Computation(module)])


def failure(script: Script, failing_query: WindowedQuery, **options: Any) -> RestartError:
    """Return the error of a query, which must not survive the script."""
    with pytest.raises(RestartError) as failed:
        crash_everywhere(script, failing_query, **options)
    return failed.value


@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", [tumbling(10), hopping(10, 4), snapshot(), count_by_start(2)], ids=str)
@pytest.mark.parametrize("script", [POINTS, REVISED], ids=["points", "revised"])
def test_a_module_that_keeps_all_in_its_state_survives(script: Script, window: Any, emit: EmitPolicy) -> None:
    assert crash_everywhere(script, query(Total(), window), emit=emit).steps == 6


@pytest.mark.parametrize("shape", SHAPES)
def test_a_module_of_any_shape_survives_on_a_random_stream(shape: str) -> None:
    timestamps = TimestampPolicy.UNCHANGED if shape in OWN_TIMES else TimestampPolicy.ALIGN
    computations = [Computation(module) for module in SHAPES[shape]]
    windows_of_shape = WindowedQuery(hopping(9, 4), computations, ClipPolicy.FULL, timestamps)
    stream = random_stream(seed=len(shape), events=5, closed=True)
    assert crash_everywhere(stream, windows_of_shape, emit="speculative").evaluators == ("general",)


LASTING = Script().insert("a", 1, 9, 2).insert("b", 3, INFINITY, 4).close()
WITHOUT_COLUMNAR = ("general", "grouped", "sliced")
ALL_EVALUATORS = ("general", "grouped", "sliced", "columnar")


@pytest.mark.parametrize(
    ("script", "tested_query", "emit", "evaluators"),
    [
        pytest.param(POINTS, query(Total()), "final", WITHOUT_COLUMNAR, id="points"),
        pytest.param(POINTS, query(Total()), "eager", ("general",), id="points, eager"),
        pytest.param(POINTS, query(Mean(), hopping(10, 5)), "final", ALL_EVALUATORS, id="points on arrays"),
        pytest.param(LASTING, query(Mean()), "final", ("general", "grouped", "columnar"), id="lasting events"),
        pytest.param(REVISED, query(Mean()), "final", ("general", "columnar"), id="revised events"),
        pytest.param(REVISED, query(Mean()), "eager", ("general", "columnar"), id="revised events, eager"),
        pytest.param(POINTS, query(Total(), session(3)), "final", WITHOUT_COLUMNAR, id="sessions of points"),
        pytest.param(LASTING, query(Total(), session(3)), "final", WITHOUT_COLUMNAR, id="sessions of lasting events"),
        pytest.param(POINTS, query(Mean(), session(3)), "final", ALL_EVALUATORS, id="sessions of points on arrays"),
        pytest.param(LASTING, query(Mean(), session(3)), "final", ALL_EVALUATORS, id="sessions of lasting on arrays"),
        pytest.param(REVISED, query(Total(), session(3)), "final", ("general",), id="sessions of revised events"),
    ],
)
def test_every_evaluator_that_can_run_the_query_runs_it(
    script: Script, tested_query: WindowedQuery, emit: str, evaluators: tuple[str, ...]
) -> None:
    assert crash_everywhere(script, tested_query, emit=emit).evaluators == evaluators


def test_the_report_draws_the_smallest_stream_the_restart_and_both_outputs() -> None:
    assert str(failure(POINTS, query(TotalOnSelf()))) == (
        "test.total_on_self 1 does not survive a restart\n"
        "  final results of tumbling(10), evaluator general, with a restart after step 2:\n"
        "  after step 4 the output is another\n"
        "  smallest stream:\n"
        "                 4         14\n"
        "    + 'b'        [)                  3\n"
        "    punctuation        !             10\n"
        "    ======= restart\n"
        "    + 'd'                [)          1\n"
        "    the stream is closed\n"
        "\n"
        "    without            [---------)   4\n"
        "    restarted          [---------)   1\n"
        "  to do: keep all that a result depends on in the state, as plain data:\n"
        "      nothing on self after __init__, nothing on the class, in a module's globals or in a default argument"
    )


def test_the_error_has_the_evaluator_the_mishap_the_step_and_the_stream_as_attributes() -> None:
    error = failure(POINTS, query(TotalOnSelf()), emit="eager")
    assert error.evaluator == "general"
    assert error.mishap == "restart"
    assert error.step == 2
    assert error.stream.count("======= restart") == 1


def test_a_module_that_counts_a_step_twice_is_found_by_a_step_that_is_run_again() -> None:
    # After the only event of its window, a restart has nothing to forget.
    error = failure(Script().point("a", 1, 2), query(TotalOnSelf()), emit="eager")
    assert error.mishap == "crash"
    assert error.step == 1
    assert "with step 1 run again, as after a crash before its state was kept" in str(error)


def test_a_state_of_which_two_parts_are_one_object_is_found() -> None:
    script = Script().point("a", 1, 2).point("b", 4, 3).point("c", 5, 7).close()
    error = failure(script, query(Shared()), emit="eager")
    assert str(error).startswith("test.shared 1 is not evaluated as the reference evaluates it\n")
    assert "let no two parts of the state be one object" in str(error)


def test_a_module_that_counts_on_itself_how_often_it_combines_is_found_over_slices() -> None:
    script = Script()
    for number in range(6):
        script = script.point(number, 3 * number, 1).punctuate(3 * number)
    error = failure(script.close(), query(CombinesOnSelf(), hopping(12, 3)))
    assert error.evaluator == "sliced"
    assert error.mishap == "restart"


def test_a_cache_of_what_can_be_computed_again_is_allowed() -> None:
    assert crash_everywhere(POINTS, query(Cache(), hopping(10, 5))).steps == 6


def test_a_state_that_cannot_be_stored_is_an_error_with_advice() -> None:
    error = failure(POINTS, query(Opaque()), emit="eager")
    assert str(error).startswith("test.opaque 1 cannot be evaluated\n")
    assert "build states and results from plain data" in str(error)
    assert isinstance(error.__cause__, StateError)


def test_an_exception_of_a_module_is_shown_with_the_smallest_stream_on_which_it_is_raised() -> None:
    error = failure(NEGATIVE, query(Negative()))
    assert "step 2 raised ModuleFailedError: " in str(error)
    assert "no negative numbers" in str(error)
    assert error.stream.count("+ ") == 1


def test_a_result_that_is_another_each_time_is_not_blamed_on_the_restart() -> None:
    error = failure(POINTS, query(Random()))
    assert error.mishap == "second run"
    assert str(error).startswith("test.random 1 gives another output each time\n")
    assert "no clock, no random numbers" in str(error)


def test_a_module_that_cannot_travel_is_refused() -> None:
    with pytest.raises(ModuleContractError, match=r"cannot pickle '_thread.lock'.*\n.*\n  keep open files"):
        crash_everywhere(POINTS, query(Locked()))


@pytest.mark.parametrize("refinement", Refinement)
def test_early_results_of_a_module_survive_if_it_keeps_all_in_its_state(refinement: Refinement) -> None:
    emit = EarlyEmission(every_count(1), refinement)
    assert crash_everywhere(POINTS, query(Total()), emit=emit).evaluators == ("general",)
    assert failure(POINTS, query(TotalOnSelf()), emit=emit).mishap == "restart"


@pytest.mark.parametrize(
    ("trigger", "reason"), [(when("x > 5"), "a script has no columns"), (every("1 minute"), "waits for a clock")]
)
def test_a_trigger_that_waits_for_what_no_script_has_is_refused(trigger: Any, reason: str) -> None:
    with pytest.raises(PolicyError, match=reason):
        crash_everywhere(POINTS, query(Total()), emit=EarlyEmission(trigger))


def test_a_clip_that_a_module_does_not_accept_is_refused_as_in_any_query() -> None:
    class TotalOfClipped(Total):
        name = "test.total_of_clipped"
        accepted_clips = frozenset({ClipPolicy.FULL})

    with pytest.raises(PolicyError, match="does not accept clip='none'"):
        crash_everywhere(POINTS, query(TotalOfClipped()))


def test_a_script_without_steps_or_with_illegal_ones_is_refused() -> None:
    with pytest.raises(StreamError, match="no steps"):
        crash_everywhere(Script(), query(Total()))
    with_late_step = Script((*POINTS.steps,), allow_illegal=True).add(Insertion("z", Event(0, 1, 1)))
    with pytest.raises(StreamError, match="illegal steps"):
        crash_everywhere(with_late_step, query(Total()))


def test_a_script_that_punctuates_some_keys_alone_is_refused() -> None:
    with pytest.raises(StreamError, match=r"some keys alone, .* KeyPunctuation\(key='a', time=4\)"):
        crash_everywhere(POINTS.punctuate(4, key="a"), query(Total()))


@dataclass
class Ride:
    length: float
    tags: list[str]


class Pair(NamedTuple):
    ride: Ride
    weight: int


class Longest(Aggregate[Pair, Ride]):
    """Reads records in records, and returns one."""

    name, version = "test.longest", "1"

    def compute_result(self, payloads: Sequence[Pair]) -> Ride:
        return max((pair.ride for pair in payloads), key=lambda ride: (ride.length, ride.tags))


def test_payloads_and_results_may_be_records() -> None:
    script = Script().point("a", 1, Pair(Ride(2.5, ["x"]), 1)).point("b", 2, Pair(Ride(4.0, []), 2)).close()
    assert crash_everywhere(script, query(Longest()), emit="eager").steps == 3
    (row,) = script.run(query(Longest()))[None]
    assert equal(row.value, (Ride(4.0, []),))


def test_several_modules_read_the_parts_of_a_payload_that_they_select() -> None:
    script = Script().point("a", 1, (2, 0.5)).point("b", 4, (3, 1.5)).punctuate(10).point("c", 12, (1, 2.5)).close()
    computations = [Computation(Total(), lambda payload: payload[0]), Computation(Mean(), lambda payload: payload[1])]
    assert "sliced" in crash_everywhere(script, WindowedQuery(hopping(10, 5), computations)).evaluators


@pytest.mark.parametrize("emit", EmitPolicy)
def test_keys_that_are_forgotten_survive_a_crash_at_any_step(emit: EmitPolicy) -> None:
    # The key is alive from 0 to 4 and from 30 to 31; an event between them joins the two lives until it is retracted.
    one_life = Script().insert("first", 0, 4, 1).insert("last", 30, 31, 2).insert("between", 14, 18, 4)
    script = one_life.retract("between").punctuate(10).point("again", 20, 8).close()
    query = WindowedQuery(landmark(10), [Computation(Total())], forget_keys_after=12)
    assert crash_everywhere(script, query, emit=emit).evaluators == ("general",)


class HoursInBerlin(IncrementalAggregate[int, list[datetime], list[int]]):
    """The hours that the clock of Berlin shows; a payload is a number of hours since 1970-01-01T00:00Z."""

    name, version = "test.hours_in_berlin", "1"

    def create_state(self) -> list[datetime]:
        return []

    def add_events(self, state: list[datetime], payloads: Sequence[int]) -> list[datetime]:
        moments = [datetime.fromtimestamp(3600 * hours, ZoneInfo("Europe/Berlin")) for hours in payloads]
        return state + moments

    def combine(self, state: list[datetime], other: list[datetime]) -> list[datetime]:
        return state + other

    def compute_result(self, state: list[datetime]) -> list[int]:
        return sorted(moment.hour for moment in state)


@pytest.mark.parametrize("emit", EmitPolicy)
def test_a_time_in_a_state_keeps_the_clock_of_its_zone(emit: EmitPolicy) -> None:
    assert crash_everywhere(POINTS, query(HoursInBerlin(), hopping(10, 5)), emit=emit).evaluators

    # Payloads 2 and 3 are in the first window, and 1 in the second; Berlin is an hour ahead of UTC.
    hours_by_window = [row.value[0] for row in POINTS.run(query(HoursInBerlin()))[None]]
    assert hours_by_window == [[3, 4], [2]]


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Buffer(), r"test.buffer 1 made a state that cannot be stored: bytearray.* of type bytearray cannot be stored"),
        (Turns(), r"test.turns 1 made a state that cannot be stored: Span.*: Span refuses it: ValueError: the least"),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_a_state_that_would_come_back_as_another_is_refused_where_it_is_stored(module: Module, message: str) -> None:
    script = Script().point("a", 1, 2).point("b", 4, 3).close()
    error = failure(script, query(module, hopping(10, 5)), emit=EmitPolicy.EAGER)
    assert re.search(message, str(error)), error


@pytest.mark.parametrize("module", [Buffer(), Turns()], ids=lambda module: module.name)
def test_a_state_that_would_come_back_as_another_breaks_a_law_of_the_sdk(
    module: IncrementalAggregate[int, Any, Any],
) -> None:
    suite: Any = type("TestModule", (IncrementalAggregateLaws,), {"module": module, "payloads": st.integers(1, 9)})
    with pytest.raises(LawError, match=r"cannot be stored|Span|bytearray"):
        suite().test_state_survives_its_codec()


class CountFromTheStart(Operator[int, int]):
    """The number of members, as a row from the start of the window: the next member changes what lies before it."""

    name, version = "test.count_from_the_start", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
        return [Event(window.start, window.end, len(events))]


def test_a_module_that_breaks_its_time_bound_promise_is_blamed_and_not_the_engine() -> None:
    clipped_query = WindowedQuery(tumbling(10), [Computation(CountFromTheStart())], timestamps=TimestampPolicy.CLIP)
    error = failure(POINTS, clipped_query, emit="eager")
    first_line, _, report = str(error).partition("\n")
    assert first_line == "test.count_from_the_start 1.0.0 promises contract = OutputContract.TIME_BOUND, and breaks it"
    assert "the fault is Muntin's" not in report
    assert "declare contract = OutputContract.WINDOW_BASED" in report


def test_a_query_runs_four_times_for_each_evaluator_as_the_docstring_says(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def note_and_run(tested: Any, evaluator: str, mishap: Mishap, only_after: int | None = None) -> Any:
        runs.append(f"{evaluator} with {mishap}")
        return run_steps(tested, evaluator, mishap, only_after)

    def note_and_run_reference(tested: Any) -> Any:
        runs.append("the reference")
        return reference_steps(tested)

    monkeypatch.setattr(difference_search, "run_steps", note_and_run)
    monkeypatch.setattr(difference_search, "reference_steps", note_and_run_reference)
    survived = crash_everywhere(POINTS, query(Total()))
    assert len(runs) == 4 * len(survived.evaluators)
    assert "There are four runs" in (crash_everywhere.__doc__ or "")
