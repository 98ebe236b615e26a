"""Joins that are refused where they are written, and what is said of those that are not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from muntin import Axis, ClipPolicy, EmitPolicy, JoinKind, TimestampPolicy, correct
from muntin.errors import PolicyError, QueryError
from muntin.progress import bounded_delay, ordered
from muntin.schemas import describe
from muntin.windows.specification import Unwindowed
from muntin_engine.core.changes import Progress
from muntin_engine.core.lifetimes import SetDuration, Shift, ToEdges
from muntin_engine.errors import StateMismatchError
from muntin_engine.plan import Columns, Input, NamedColumn, Plan
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan
from muntin_engine.plan.planner import checked_plan
from muntin_engine.progress import InputsProgress, Observation, ProgressTracker
from tests.joins.test_conditions import bound

COLUMNS = Columns(
    NamedColumn("at", "bigint"), keys=(NamedColumn("k", "string"),), payload=(NamedColumn("v", "string"),)
)
WITH_IDS = replace(COLUMNS, id=NamedColumn("id", "string"), change=NamedColumn("change", "string"))
A, B = JoinedColumn(describe(str, "a"), 0, 0), JoinedColumn(describe(str, "b"), 1, 0)
LEFT, RIGHT = Input(COLUMNS, progress=bounded_delay(5), name="left"), Input(WITH_IDS, name="right")


def plan(kind: JoinKind = JoinKind.INNER, **changed: Any) -> Plan:
    given: dict[str, Any] = {
        "inputs": (LEFT, RIGHT),
        "axis": Axis.TICKS,
        "window": Unwindowed(),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": (),
        "join": JoinPlan(kind, (A, B)[: 1 + kind.pairs]),
    }
    return checked_plan(Plan(**(given | changed)))


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"join": JoinPlan(JoinKind.ANTI, (A, B))}, QueryError, "has rows of the left stream alone"),
        ({"join": JoinPlan(JoinKind.INNER, ())}, QueryError, "no columns besides its keys"),
        ({"emit": EmitPolicy.SPECULATIVE}, PolicyError, "no windows to be early for, got emit='speculative'"),
        ({"inputs": (replace(LEFT, late=correct(3)), RIGHT)}, PolicyError, "of left corrects windows"),
        ({"inputs": (LEFT, replace(RIGHT, most_held=9))}, PolicyError, "right sheds events"),
        (
            {"inputs": (LEFT, replace(RIGHT, progress=RIGHT.progress.with_key_punctuation()))},
            PolicyError,
            "keys of right punctuate themselves",
        ),
    ],
)
def test_a_join_is_refused_for_what_it_has_no_answer_to(
    changed: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan(**changed)


@pytest.mark.parametrize(
    ("right", "message"),
    [
        (replace(RIGHT, name="left"), "each input of several needs a name of its own, got 'left', 'left'"),
        (replace(RIGHT, name=""), "got 'left', ''"),
        (Input(replace(WITH_IDS, keys=()), name="tolls"), "the keys of left are of type string, those of tolls none"),
        (
            Input(replace(COLUMNS, start=NamedColumn("at", "int")), name="tolls"),
            "the times of left are bigint, those of tolls int",
        ),
    ],
)
def test_inputs_have_names_of_their_own_and_keys_and_times_of_one_type(right: Input, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        plan(inputs=(LEFT, right))


def test_no_evaluator_takes_three_inputs() -> None:
    with pytest.raises(QueryError, match="no evaluator takes the 3 inputs of this query, left, right, more: columnar,"):
        plan(inputs=(LEFT, RIGHT, replace(RIGHT, name="more")))


@pytest.mark.parametrize(
    ("inputs", "subject"),
    [((replace(LEFT, is_edge=True), RIGHT), "lifetimes of events of left"), ((RIGHT, LEFT), "inputs")],
)
def test_a_checkpoint_remembers_each_input(inputs: tuple[Input, Input], subject: str) -> None:
    stored = json.loads(json.dumps(plan_identity(plan())))
    check_plans([plan()], [stored], "there")
    with pytest.raises(StateMismatchError) as refused:
        check_plans([plan(inputs=inputs)], [stored], "there")
    assert subject in [difference.subject for difference in refused.value.differences]


def test_explain_tells_the_inputs_apart() -> None:
    told = explain_plan(plan(inputs=(LEFT, replace(RIGHT, sources=("n", "s"))))).splitlines()
    assert any(line.startswith("progress    left: 5 ticks be") for line in told)
    assert "progress    right: punctuation rows; the least of n, s" in told


def test_a_clock_tells_the_time_to_all_inputs() -> None:
    trackers = [ProgressTracker(), ProgressTracker(ordered().with_idle(5, lag=2), ("a",))]
    now = InputsProgress.start(2).advance(trackers, [Progress(clock=100), Progress()], [(), [Observation("a", 7, 1)]])
    assert [progress.watermark for progress in now.inputs] == [Progress().watermark, 7]
    again = InputsProgress.from_data(json.loads(json.dumps(now.to_data())))
    later = again.advance(trackers, [Progress(clock=110), Progress()], [(), ()])
    assert [progress.watermark for progress in later.inputs] == [Progress().watermark, 108]
    assert later.least.clock == 110


def test_windows_and_joins_have_evaluators_of_their_own() -> None:
    with pytest.raises(QueryError, match="cannot run this query: the query has no windows"):
        plan(wanted="general")


def test_the_columns_of_results_say_what_may_change() -> None:
    assert plan().added == ("lifetime",)
    assert plan(emit=EmitPolicy.EAGER).added == ("lifetime", "change", "event_id", "new_end")
    assert [part.name for part in plan(JoinKind.LEFT).outputs] == ["a", "b"]
    assert plan_identity(plan(JoinKind.LEFT)) != plan_identity(plan())


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "join        inner, each pair of events of a key, over the ticks that both live; a of left, b of right"),
        (
            {"join": JoinPlan(JoinKind.CLIP, (A,), bound(lambda one, other: one < other, {"a": str}, {"b": str}))},
            "join        clip, each event of left, up to the first of right that starts after it does; only events "
            "that meet <lambda>(left.a, right.b) count, asked for each pair that may overlap; a of left",
        ),
        ({"kind": JoinKind.ANTI}, "join        anti, the parts of left that no event of right covers; a of left"),
        (
            {"kind": JoinKind.CLIP},
            "join        clip, each event of left, up to the first of right that starts after it does; a of left",
        ),
        (
            {"inputs": (LEFT, replace(LEFT, name="right"))},
            "output      a pair is final, and emitted, when both events are there; complete to the least watermark of "
            "the two inputs",
        ),
        ({"emit": EmitPolicy.EAGER}, "lag         none"),
        ({}, "lag         as long as a row waits for that, as it starts before"),
    ],
)
def test_explain_says_what_a_join_emits_and_when(changed: dict[str, Any], line: str) -> None:
    assert line in explain_plan(plan(**changed)).splitlines()


def test_sides_are_what_changes_of_lifetimes_make_of_them() -> None:
    samples = replace(LEFT, is_edge=True)
    lasting = plan(inputs=(replace(samples, lifetime_changes=(SetDuration(5),)), RIGHT))
    assert [given.has_samples for given in lasting.inputs] == [False, False]
    sampled = plan(inputs=(replace(LEFT, lifetime_changes=(ToEdges(), Shift(3))), RIGHT))
    assert [given.has_samples for given in sampled.inputs] == [True, False]
