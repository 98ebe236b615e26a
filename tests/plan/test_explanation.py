"""What `explain()` says, for every strategy there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muntin import (
    Axis,
    ClipPolicy,
    ColumnarAggregate,
    Component,
    EmitPolicy,
    IncrementalAggregate,
    TimestampPolicy,
    calendar,
    early,
    hopping,
    session,
    snapshot,
)
from muntin.errors import PolicyError, QueryError
from muntin.progress import bounded_delay
from muntin.triggers import any_of, every_count, on_signal, repeat
from muntin.windows import WindowKind
from muntin_engine.evaluators.registry import parse_evaluator
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.planner import keeping_late_rows
from tests.differential.forms import Statistics
from tests.plan.plans import input_of, plan_of, planned
from tests.plan.test_plan import Bound, Free
from tests.sdk.query_modules import Count as CountWithoutRemove
from tests.spark.modules import Count, Echo, Lifetimes, Members

ID = {"id": NamedColumn("id", "bigint")}


def line(title: str, *modules: Any, **changed: Any) -> str:
    lines = explain_plan(plan_of(*modules, **changed)).splitlines()
    return next(text[12:] for text in lines if text.startswith(title))


def test_a_query_is_explained_line_by_line() -> None:
    plan = plan_of(planned(Count, "n", inputs=0), planned(Members, "m"), input=input_of(bounded_delay(60)), buckets=8)
    assert explain_plan(plan) == (
        "window      tumbling('10 minutes'), clip none, timestamps align, emit final\n"
        "key         key, over 8 buckets\n"
        "progress    60 microseconds behind the newest start\n"
        "late        rows behind the watermark go to late()\n"
        "context     the windows of an event follow from its own times\n"
        "evaluator   grouped: show.count 1.0.0 has no combine\n"
        "module      n = show.count 1.0.0: its state is built from the members of each window\n"
        "module      m = show.members 1.0.0: computed from the members of each window, as it is not incremental\n"
        "row         a constant for each window that it is a member of, when that closes\n"
        "state       the rows of open windows, in columns as they came; a batch writes only its own rows\n"
        "output      a window is complete when the watermark reaches its end\n"
        "lag         less than 10 minutes, as results start where their windows do"
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"columns": {"change": NamedColumn("what", "string")}}, "punctuation rows"),
        (
            {"columns": {"change": NamedColumn("what", "string")}, "input": input_of(bounded_delay(5))},
            "5 microseconds behind the newest start, or punctuation rows",
        ),
        ({}, "nothing but the end of a static input"),
    ],
)
def test_it_says_what_moves_a_query_on(changed: dict[str, Any], expected: str) -> None:
    assert line("progress", **changed) == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (hopping("10 minutes", "1 minute"), "the windows of an event follow from its own times"),
        (snapshot(), "the windows of an event also depend on events that come after it"),
    ],
)
def test_it_says_what_the_windows_of_an_event_follow_from(window: WindowKind, expected: str) -> None:
    assert line("context", window=window) == expected


def test_a_query_without_keys_says_so() -> None:
    assert line("key", columns={"keys": ()}) == "none: all rows are one group, in one task"


@pytest.mark.parametrize(
    ("cls", "emit", "expected"),
    [
        (Members, "final", "computed from the members of each window, as it is not incremental"),
        (Members, "eager", "computed from the members of each window, as it is not incremental"),
        (CountWithoutRemove, "final", "its state is built from the members of each window"),
        (Count, "speculative", "the state of a window that changes after it was emitted is updated with each change"),
        (
            CountWithoutRemove,
            "eager",
            "the state of a window that changes after it was emitted is rebuilt when a member goes, "
            "as it has no remove_events",
        ),
    ],
)
def test_it_says_how_a_module_is_evaluated_and_why(cls: Any, emit: str, expected: str) -> None:
    assert line("module", planned(cls), emit=EmitPolicy(emit)).partition(": ")[2] == expected


def test_it_says_when_open_windows_are_put_out() -> None:
    emit = early(repeat(any_of(every_count(10), on_signal("dusk"))), refinement="retract")
    assert line("early", emit=emit) == (
        "a window's trigger is called when its members change or a time comes that it waits for or a signal 'dusk' "
        "does; each result is the whole so far, and the last one is retracted"
    )
    assert line("evaluator", emit=emit) == "general: a trigger watches each window by itself"
    assert "the trigger's state of each open window with members, with its last output" in line("state", emit=emit)
    assert "a firing costs what a closing does" in line("row", emit=emit)
    discarding = early(every_count(10), refinement="discard")
    assert "members that came since the window was last emitted" in line("module", emit=discarding)


def test_early_results_are_kept() -> None:
    assert "the last output of each window" not in line("state")
    assert "the last output of each window that may change" in line("state", emit=EmitPolicy.SPECULATIVE)


@pytest.mark.parametrize(
    ("module", "changed", "expected"),
    [
        (planned(Count), {"window": snapshot()}, "a window is complete when the watermark passes its end"),
        (planned(Lifetimes), {}, "a window is complete when the watermark reaches its end"),
        (planned(Lifetimes), {"columns": ID}, "a window waits until its members have ended"),
        (planned(Lifetimes), {"is_edge": True}, "a window waits until its members have ended"),
        (planned(Lifetimes), {"columns": ID, "clip": ClipPolicy.RIGHT}, "a window is complete when"),
        (planned(Echo, ""), {"timestamps": TimestampPolicy.CLIP}, "a window is complete when"),
        (planned(Free, ""), {"timestamps": TimestampPolicy.UNCHANGED}, "is never complete before the stream closes"),
        (planned(Free, ""), {"timestamps": TimestampPolicy.CLIP}, "a window is complete when"),
        (planned(Free, ""), {}, "a window is complete when"),
        (
            planned(Bound, ""),
            {"timestamps": TimestampPolicy.CLIP, "clip": ClipPolicy.FULL, "emit": EmitPolicy.EAGER},
            "is complete up to the watermark",
        ),
        (
            planned(Count),
            {"timestamps": TimestampPolicy.TIME_BOUND, "emit": EmitPolicy.EAGER},
            "is complete up to the watermark, as no result starts before its cause",
        ),
    ],
)
def test_it_says_when_a_window_is_complete(module: Any, changed: dict[str, Any], expected: str) -> None:
    assert line("output", module, **changed).startswith(expected)


@pytest.mark.parametrize(
    ("module", "changed", "expected"),
    [
        (planned(Count), {"timestamps": TimestampPolicy.POINT_AT_END}, "none, as results lie where their windows end"),
        (planned(Count), {"window": hopping(600, 60), "axis": Axis.TICKS}, "less than 600 ticks, as results start"),
        (planned(Count), {"window": snapshot()}, "as long as the earliest window of any key is open"),
        (planned(Lifetimes), {"columns": ID}, "until the members of the earliest window have ended"),
        (planned(Free, ""), {"timestamps": TimestampPolicy.UNCHANGED}, "no output watermark before the stream"),
        (planned(Free, ""), {"timestamps": TimestampPolicy.CLIP}, "less than 10 minutes, as results start"),
        (
            planned(Bound, ""),
            {"timestamps": TimestampPolicy.CLIP, "clip": ClipPolicy.FULL, "emit": EmitPolicy.EAGER},
            "none",
        ),
    ],
)
def test_it_says_by_how_much_the_output_lags(module: Any, changed: dict[str, Any], expected: str) -> None:
    assert line("lag", module, **changed).startswith(expected)


class Sketch(IncrementalAggregate[int, list[int], int]):
    name, version = "show.sketch", "1.0.0"
    state_bytes = 900

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [*state, *other]

    def compute_result(self, state: list[int]) -> int:
        return len(state)


class Whole(ColumnarAggregate[int, int]):
    name, version = "show.whole", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        return {"total": Component.sum("int64")}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        return {"total": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        return components["total"]


class Peeled(Sketch):
    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        return state[len(other) :]


BERLIN, SAMOA = (calendar("day", zone=zone) for zone in ("Europe/Berlin", "Pacific/Apia"))
LENGTHS = {"columns": {"end": NamedColumn("end", "timestamp")}}


@pytest.mark.parametrize(
    ("module", "changed", "title", "expected"),
    [
        (Members, {}, "evaluator", "grouped: show.members 1.0.0 has no combine"),
        (Sketch, {}, "evaluator", "sliced: show.sketch 1.0.0 has no columnar form for its input"),
        (Sketch, {"wanted": "general"}, "evaluator", "general: asked for"),
        (Sketch, {"window": snapshot()}, "evaluator", "grouped: show.sketch 1.0.0 has no columnar form for its input"),
        (Count, {"window": snapshot()}, "evaluator", "general: show.count 1.0.0 slides from window to window"),
        (Count, {"window": hopping(99, 3)}, "evaluator", "general: show.count 1.0.0 slides from window to window"),
        (Members, {"window": hopping(9, 3)}, "evaluator", "grouped: show.members 1.0.0 has no combine"),
        (Members, {"window": snapshot(), **LENGTHS}, "row", "a constant for each window that it is a member of, when"),
        (Members, {"window": session(9)}, "state", "the rows of open windows, in columns as they came; a batch"),
        (Whole, {"window": snapshot()}, "evaluator", "columnar: all modules have a columnar form"),
        (
            Whole,
            {"window": snapshot()},
            "row",
            "lifted before the shuffle; its start and its end are sorted among",
        ),
        (
            Whole,
            {"window": snapshot()},
            "state",
            "a partial state per event until the watermark passes its end; a state has a bounded size; a",
        ),
        (
            Whole,
            {"window": snapshot()},
            "module",
            "m = show.whole 1.0.0: keeps total (add int64); added where",
        ),
        (Whole, {"window": snapshot(), "columns": ID}, "evaluator", "columnar: all modules have a columnar form"),
        (Whole, {"window": snapshot(), "columns": ID}, "row", "admitted by the sorted ids of its bucket; its start"),
        (Whole, {"window": snapshot(), "columns": ID}, "state", "an event until the watermark passes its end, and"),
        (
            Statistics,
            {"window": snapshot(), "columns": ID},
            "evaluator",
            "general: test.statistics 1 keeps least (fmin int64), which cannot be subtracted where an event of a",
        ),
        (
            Whole,
            {"window": snapshot(), "columns": ID, "emit": EmitPolicy.EAGER},
            "evaluator",
            "general: emit='eager' emits results that may change",
        ),
        (
            Statistics,
            {"window": snapshot()},
            "evaluator",
            "grouped: test.statistics 1 keeps least (fmin int64), which cannot be subtracted where an event of a",
        ),
        (Sketch, {"columns": ID}, "evaluator", "general: show.sketch 1.0.0 has no columnar form for its input"),
        (Statistics, {"columns": ID}, "evaluator", "columnar: all modules have a columnar form"),
        (Whole, {"columns": ID}, "row", "admitted by the sorted ids of its bucket; its event is merged once into"),
        (Whole, {"columns": ID}, "state", "an event until the watermark passes its end, and"),
        (Whole, {"columns": ID}, "module", "m = show.whole 1.0.0: keeps total (add int64); added where its first"),
        (
            Whole,
            {"columns": ID, "emit": EmitPolicy.SPECULATIVE},
            "state",
            "an event until the watermark passes its end, and the last output of each window that may change, and",
        ),
        (
            Whole,
            {"columns": ID, "emit": EmitPolicy.EAGER},
            "evaluator",
            "columnar: all modules have a columnar form",
        ),
        (Members, {"window": session(9)}, "evaluator", "grouped: show.members 1.0.0 has no combine"),
        (Sketch, {"window": session(9)}, "evaluator", "sliced: show.sketch 1.0.0 has no columnar form for its input"),
        (Sketch, {"window": session(9), **LENGTHS}, "evaluator", "sliced: show.sketch 1.0.0 has no columnar form"),
        (Sketch, {"window": session(9), "columns": ID}, "evaluator", "general: events have ids, so they may be"),
        (
            Sketch,
            {"window": session(9)},
            "module",
            "m = show.sketch 1.0.0: adds a session's rows of a batch in one call, and combines its states where",
        ),
        (Sketch, {"window": session(9)}, "row", "crosses the shuffle as it is, and is added there to the state of its"),
        (
            Sketch,
            {"window": session(9)},
            "state",
            "a partial state per key and open session; a state has a bounded size; a",
        ),
        (Statistics, {"window": session(9)}, "row", "lifted before the shuffle, and fused with its session after it"),
        (
            Statistics,
            {"window": session(9)},
            "state",
            "a partial state per key and open session; a state has a bounded size; a",
        ),
        (Sketch, {"window": BERLIN}, "evaluator", "sliced: show.sketch 1.0.0 has no columnar form for its input"),
        (Sketch, {"window": BERLIN}, "row", "merged once into its slice of 1 day, before the shuffle"),
        (Statistics, {"window": BERLIN}, "evaluator", "columnar: all modules have a columnar form"),
        (Statistics, {"window": calendar("2 months", "month")}, "row", "merged once into its slice of 1 month, before"),
        (Statistics, {"window": calendar("week", zone="Asia/Tokyo")}, "row", "merged once into its slice of 1 week,"),
        (Statistics, {"window": BERLIN, **LENGTHS}, "evaluator", "columnar: all modules have a columnar form"),
        (Statistics, {"window": SAMOA}, "evaluator", "columnar: all modules have a columnar form"),
        (
            Statistics,
            {"window": SAMOA, **LENGTHS},
            "evaluator",
            "general: events have lifetimes, and a range of calendar windows cannot leave out the empty ones",
        ),
        (
            Statistics,
            {"window": calendar("week", zone="Pacific/Apia"), **LENGTHS},
            "row",
            "merged once into the range of windows that it overlaps",
        ),
        (
            Statistics,
            {"window": calendar("2 days", "day", zone="Pacific/Apia")},
            "evaluator",
            "general: calendar('2 days', 'day', zone='Pacific/Apia') is no regular grid",
        ),
        (Sketch, LENGTHS, "evaluator", "grouped: show.sketch 1.0.0 has no columnar form for its input"),
        (Statistics, {}, "evaluator", "columnar: all modules have a columnar form"),
        (Statistics, {"wanted": "sliced"}, "evaluator", "sliced: asked for"),
        (Statistics, {"keeps_late_rows": True}, "evaluator", "general: late rows are wanted, and partial states have"),
        (Statistics, {"input": input_of(most_held=9)}, "evaluator", "general: shedding counts the events that a key"),
        (
            Members,
            {"input": input_of(most_held=9_000)},
            "shedding",
            "a key that holds 9,000 events takes no new ones until some leave; those are counted as shed and go to "
            "late(), and its results are of a part of its events, the earliest of each micro-batch",
        ),
        (Statistics, LENGTHS, "row", "merged once into the range of windows that it overlaps, before the shuffle"),
        (Statistics, {"window": hopping(9, 6)}, "row", "merged once into its slice of 3 microseconds, before the"),
        (Statistics, {"window": hopping(9, 7)}, "row", "merged once into its slice, one of 2 in 7 microseconds, b"),
        (
            Sketch,
            {},
            "state",
            "a partial state per key and slice of the open windows; a state has a bounded size; a batch writes only",
        ),
        (Sketch, {}, "module", "m = show.sketch 1.0.0: its states are combined per slice, each window has"),
        (
            Sketch,
            {"window": hopping(9, 3)},
            "module",
            "m = show.sketch 1.0.0: its states are combined per slice; windows",
        ),
        (
            Peeled,
            {"window": hopping(9, 3)},
            "module",
            "m = show.sketch 1.0.0: its states are combined per slice; a window",
        ),
        (Whole, {}, "module", "m = show.whole 1.0.0: keeps total (add int64); added where its first"),
        (Statistics, {}, "module", "m = test.statistics 1: keeps count (count int64), whole (add int64), total"),
    ],
)
def test_it_says_which_evaluator_runs_and_what_it_costs(
    module: Any, changed: dict[str, Any], title: str, expected: str
) -> None:
    assert line(title, planned(module), **changed).startswith(expected)


def test_an_evaluator_that_cannot_run_the_query_is_refused_with_the_reason() -> None:
    with pytest.raises(QueryError, match=r"the columnar evaluator cannot run this query: show.sketch 1.0.0 has no col"):
        plan_of(planned(Sketch), wanted="columnar")
    with pytest.raises(QueryError, match=r"the sliced evaluator cannot run this query: emit='eager'"):
        plan_of(planned(Sketch), wanted="sliced", emit=EmitPolicy.EAGER)
    several = {"a": hopping(9, 6), "b": hopping(4, 4)}
    with pytest.raises(QueryError, match=r"this one has none: emit='eager' emits results that may change"):
        plan_of(planned(Members), named_windows=several, emit=EmitPolicy.EAGER)
    assert plan_of(planned(Members), planned(Count, "n"), named_windows=several).choice.evaluator == "grouped"
    with pytest.raises(QueryError, match=r"this one has none: the windows are made of different pieces, such as hours"):
        plan_of(planned(Statistics), window=BERLIN, named_windows={"a": BERLIN, "b": calendar("month")})
    week = calendar("week", zone="Europe/Berlin")
    assert plan_of(planned(Statistics), window=BERLIN, named_windows={"a": BERLIN, "b": week}).choice.uses_forms
    with pytest.raises(QueryError, match=r"the columnar evaluator cannot run this query: late rows are wanted"):
        keeping_late_rows(plan_of(planned(Statistics), wanted="columnar"))
    with pytest.raises(QueryError, match=r"the sliced evaluator cannot run this query: shedding counts the events"):
        plan_of(planned(Sketch), wanted="sliced", input=input_of(most_held=9))
    with pytest.raises(PolicyError, match=r"'fast' is not an evaluator; there are 'auto', 'columnar', 'sliced'"):
        parse_evaluator("fast")
