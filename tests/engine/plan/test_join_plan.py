"""Joins and their conditions: what is refused where it is written, and what is said of those that are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import Axis, ClipPolicy, EmitPolicy, Function, JoinKind, TimestampPolicy, correct, function
from muntin.errors import ModuleContractError, ModuleError, ParameterError, PolicyError, QueryError, TypeMismatchError
from muntin.progress import bounded_delay, ordered
from muntin.schemas import Field, describe
from muntin.windows.specification import Unwindowed
from muntin_engine import condition
from muntin_engine.errors import StateMismatchError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Columns, Input, NamedColumn, Plan
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, PairCondition, plan_condition
from muntin_engine.plan.planner import checked_plan
from muntin_engine.time.changes import Progress
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.lifetimes import SetDuration, Shift, ToEdges
from muntin_engine.time.progress_tracker import Observation, ProgressTracker


@function("shop.fits", version="1.2.0")
def fits(weight: float, limit: float | None, more: float = 0.0) -> bool | None:
    return None if limit is None else weight <= limit + more


def bound_condition(
    of: Function[..., Any] | Callable[..., Any],
    left: dict[str, Any],
    right: dict[str, Any],
    **parameters: Any,
) -> PairCondition:
    """Return a condition, bound to columns of these types."""
    unbound = condition(of, left=tuple(left), right=tuple(right), **parameters)
    fields: list[Field] = []
    places: list[tuple[int, int]] = []  # of each column: its side, and its place among the columns of the side
    names: list[str] = []
    for side, (side_name, columns) in enumerate((("left", left), ("right", right))):
        for place, (name, kind) in enumerate(columns.items()):
            fields.append(describe(kind, name))
            places.append((side, place))
            names.append(f"{side_name}.{name}")
    return plan_condition(unbound.function, unbound.parameters, fields, lambda number, _: places[number], names)


def test_events_meet_where_the_function_says_true() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float}, more=1.0)
    assert meets((3.0,), (2.0,)) is True
    assert meets((3.5,), (2.0,)) is False
    assert str(meets) == "shop.fits(left.kg, right.most, more=1.0)"


def test_null_is_no_answer_and_a_null_that_is_not_read_is_not_asked_about() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float})
    assert meets((3.0,), (None,)) is False
    assert meets((None,), (2.0,)) is False
    unannotated = bound_condition(lambda kg, most: kg is None and most is None, {"kg": float}, {"most": float})
    assert unannotated((None,), (None,))


def test_whole_numbers_and_numpys_booleans_are_taken() -> None:
    def near(x: float, y: float) -> bool:
        return np.abs(x - y) < 2  # type: ignore[no-any-return]  # NumPy's bool

    assert bound_condition(near, {"x": int}, {"y": float})((3,), (2.5,)) is True


def test_an_error_names_the_function_and_the_arguments() -> None:
    meets = bound_condition(lambda km, hours: km / hours > 2, {"km": float}, {"h": float})
    with pytest.raises(ModuleError, match=r"<lambda> code-\w+ failed: .*division by zero\n  arguments: \(3\.0, 0\.0\)"):
        meets((3.0,), (0.0,))
    with pytest.raises(
        ModuleContractError, match=r"returned 5\.0 for \(3\.0, 2\.0\)\n  expected: True, False, or None"
    ):
        bound_condition(lambda km, hours: km + hours, {"km": float}, {"h": float})((3.0,), (2.0,))


@pytest.mark.parametrize(
    ("left", "parameters", "error", "message"),
    [
        ({"kg": str}, {}, TypeMismatchError, "shop.fits reads float .*, but the column kg is str"),
        ({}, {}, TypeMismatchError, r"shop.fits takes .*weight.*limit.*got 1 columns: most float"),
        ({"kg": float}, {"less": 1}, ParameterError, r"shop.fits\(.*does not accept its parameters.*less"),
        ({"kg": float}, {"more": "1"}, ParameterError, "more must be a float, got '1'; write more=1"),
    ],
)
def test_columns_and_parameters_that_do_not_fit_are_refused(
    left: dict[str, Any], parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        bound_condition(fits, left, {"most": float}, **parameters)


class Place(NamedTuple):
    x: float
    y: float


def test_the_struct_of_a_column_is_an_argument_and_not_all_of_them() -> None:
    def is_low(place: Place) -> bool:
        return place.y < 1

    assert bound_condition(is_low, {"place": Place}, {})(({"x": 3.0, "y": 0.0},), ())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (replace(fits, is_vectorized=True), "shop.fits is vectorised\n  expected: a function of single values"),
        (replace(fits, result=describe(float)), "shop.fits returns float\n  expected: .* that returns bool or None"),
        (3, r"condition\(\) takes a function or the name of an installed one, got 3"),
    ],
)
def test_a_function_that_is_no_condition_is_refused(function: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        condition(function, left="kg")


def test_the_state_depends_on_the_function_and_its_columns() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float}, more=1.0)
    assert meets.identity() == ["shop.fits", {"more": "1.0"}, [0, 0], [1, 0]]


def test_a_function_without_a_version_has_its_code_for_one() -> None:
    less, greater = (condition(of).function for of in (lambda a, b: a < b, lambda a, b: a > b))
    assert (less.name, less.version[:5]) == (greater.name, "code-")
    assert less.version != greater.version


# Joins that are refused where they are written, and what is said of those that are not.


COLUMNS = Columns(
    NamedColumn("at", "bigint"), keys=(NamedColumn("k", "string"),), payload=(NamedColumn("v", "string"),)
)
WITH_IDS = replace(COLUMNS, id=NamedColumn("id", "string"), change=NamedColumn("change", "string"))
A = JoinedColumn(describe(str, "a"), 0, 0)
B = JoinedColumn(describe(str, "b"), 1, 0)
LEFT = Input(COLUMNS, progress=bounded_delay(5), name="left")
RIGHT = Input(WITH_IDS, name="right")


def plan(kind: JoinKind = JoinKind.INNER, **parts_of_plan: Any) -> Plan:
    """Return the plan of a join of `LEFT` and `RIGHT`, with some parts replaced."""
    parts: dict[str, Any] = {
        "inputs": (LEFT, RIGHT),
        "axis": Axis.TICKS,
        "window": Unwindowed(),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": (),
        "join": JoinPlan(kind, (A, B)[: 1 + kind.pairs]),
    }
    return checked_plan(Plan(**(parts | parts_of_plan)), DECLARATIONS)


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
    check_plans([plan()], [stored], "there", DECLARATIONS)
    with pytest.raises(StateMismatchError) as refused:
        check_plans([plan(inputs=inputs)], [stored], "there", DECLARATIONS)
    assert subject in [difference.subject for difference in refused.value.differences]


def test_explain_tells_the_inputs_apart() -> None:
    lines = explain_plan(plan(inputs=(LEFT, replace(RIGHT, sources=("n", "s"))))).splitlines()
    assert any(line.startswith("progress    left: 5 ticks be") for line in lines)
    assert "progress    right: punctuation rows; the least of n, s" in lines


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
        plan(requested_evaluator="general")


def test_the_columns_of_results_say_what_may_change() -> None:
    assert plan().engine_columns == ("lifetime",)
    assert plan(emit=EmitPolicy.EAGER).engine_columns == ("lifetime", "change", "event_id", "new_end")
    assert [part.name for part in plan(JoinKind.LEFT).outputs] == ["a", "b"]
    assert plan_identity(plan(JoinKind.LEFT)) != plan_identity(plan())


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "join        inner, each pair of events of a key, over the ticks that both live; a of left, b of right"),
        (
            {"join": JoinPlan(JoinKind.CLIP, (A,), bound_condition(lambda a, b: a < b, {"a": str}, {"b": str}))},
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
    assert [side.has_samples for side in lasting.inputs] == [False, False]
    sampled = plan(inputs=(replace(LEFT, lifetime_changes=(ToEdges(), Shift(3))), RIGHT))
    assert [side.has_samples for side in sampled.inputs] == [True, False]
