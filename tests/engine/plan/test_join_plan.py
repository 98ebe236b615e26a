"""Joins and their conditions: what is refused where it is written, and what is said of those that are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import EARLIEST, Axis, ClipPolicy, EmitPolicy, Function, JoinKind, TimestampPolicy, correct, function
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
    function: Function[..., Any] | Callable[..., Any],
    left: dict[str, Any],
    right: dict[str, Any],
    **parameters: Any,
) -> PairCondition:
    """Return a condition on pairs of payloads.

    Args:
        function: The function.
        left: The columns of the left side that are its first arguments, with their types.
        right: The columns of the right side that follow, with their types.
        parameters: The parameters of the function.
    """
    unbound = condition(function, left=tuple(left), right=tuple(right), **parameters)
    fields: list[Field] = []
    places: list[tuple[int, int]] = []  # of each column: its side, and its place among the columns of the side
    names: list[str] = []
    for side, (side_name, columns) in enumerate((("left", left), ("right", right))):
        for place, (name, annotation) in enumerate(columns.items()):
            fields.append(describe(annotation, name))
            places.append((side, place))
            names.append(f"{side_name}.{name}")
    return plan_condition(unbound.function, unbound.parameters, fields, lambda number, _: places[number], names)


def test_events_meet_where_the_function_returns_true() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float}, more=1.0)
    assert meets((3.0,), (2.0,)) is True
    assert meets((3.5,), (2.0,)) is False


def test_a_condition_is_written_with_its_columns_and_parameters() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float}, more=1.0)
    assert str(meets) == "shop.fits(left.kg, right.most, more=1.0)"


def test_events_do_not_meet_where_the_function_returns_none() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float})
    assert meets((3.0,), (None,)) is False


def test_a_function_is_not_called_with_a_null_for_an_argument_that_is_not_optional() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float})
    assert meets((None,), (2.0,)) is False, "fits(None, 2.0) would raise a TypeError"


def test_a_function_without_annotations_is_called_with_nulls() -> None:
    meets = bound_condition(lambda kg, most: kg is None and most is None, {"kg": float}, {"most": float})
    assert meets((None,), (None,))


def test_a_function_of_floats_takes_integers_and_may_return_a_boolean_of_numpy() -> None:
    def near(x: float, y: float) -> bool:
        return np.abs(x - y) < 2  # type: ignore[no-any-return]  # NumPy's bool

    meets = bound_condition(near, {"x": int}, {"y": float})
    assert meets((3,), (2.5,)) is True


def test_an_error_names_the_function_that_fails_and_the_arguments() -> None:
    meets = bound_condition(lambda km, hours: km / hours > 2, {"km": float}, {"h": float})
    with pytest.raises(ModuleError, match=r"<lambda> code-\w+ failed: .*division by zero\n  arguments: \(3\.0, 0\.0\)"):
        meets((3.0,), (0.0,))


def test_an_error_names_the_value_that_is_no_truth_value_and_the_arguments() -> None:
    meets = bound_condition(lambda km, hours: km + hours, {"km": float}, {"h": float})
    with pytest.raises(
        ModuleContractError, match=r"returned 5\.0 for \(3\.0, 2\.0\)\n  expected: True, False, or None"
    ):
        meets((3.0,), (2.0,))


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


def reads_unknown(weight: Unknown, limit: float) -> bool:  # type: ignore[name-defined]  # noqa: F821
    return bool(weight > limit)


def reads_nonsense(weight: float, limit: float) -> bool:
    return bool(weight > limit)


reads_nonsense.__annotations__["weight"] = "list[float"  # a formatter would refuse it above


def divides_by_zero(weight: 1 / 0, limit: float) -> bool:  # type: ignore[valid-type]
    return bool(weight > limit)


def takes_by_place(weight: float, /, limit: float) -> bool:
    return weight > limit


def takes_any_number(*weights: float) -> bool:
    return bool(weights)


@pytest.mark.parametrize(
    ("condition_function", "message"),
    [
        (reads_unknown, "the annotations of reads_unknown cannot be read: name 'Unknown' is not defined"),
        (reads_nonsense, "the annotations of reads_nonsense cannot be read: "),
        (divides_by_zero, "the annotations of divides_by_zero cannot be read: division by zero"),
        (
            function("test.max", result=bool, version="1")(max),
            r"test.max\(\*arguments, \*\*parameters\) takes \*arguments by place",
        ),
        (takes_by_place, r"takes_by_place\(.*\) -> .* takes weight: float by place, and a condition gives all"),
        (takes_any_number, r"takes_any_number\(.*\) -> .* takes \*weights: float by place"),
    ],
)
def test_a_function_whose_arguments_cannot_be_given_by_name_and_type_is_refused(
    condition_function: Function[..., Any] | Callable[..., Any], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        bound_condition(condition_function, {"kg": float}, {"most": float})


class Place(NamedTuple):
    x: float
    y: float


def test_a_column_that_is_a_struct_is_one_argument() -> None:
    def is_low(place: Place) -> bool:
        return place.y < 1

    meets = bound_condition(is_low, left={"place": Place}, right={})
    assert meets(({"x": 3.0, "y": 0.0},), ())


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


def test_the_identity_of_a_condition_has_its_function_its_parameters_and_the_places_of_its_columns() -> None:
    meets = bound_condition(fits, {"kg": float}, {"most": float}, more=1.0)
    assert meets.identity() == ["shop.fits", {"more": "1.0"}, [0, 0], [1, 0]]


def test_the_version_of_a_function_without_one_is_a_hash_of_its_code() -> None:
    less = condition(lambda a, b: a < b).function
    greater = condition(lambda a, b: a > b).function
    assert less.name == greater.name
    assert less.version.startswith("code-")
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


def plan(kind: JoinKind = JoinKind.INNER, **parts: Any) -> Plan:
    """Return the plan of a join of `LEFT` and `RIGHT`, with some parts replaced."""
    defaults: dict[str, Any] = {
        "inputs": (LEFT, RIGHT),
        "axis": Axis.TICKS,
        "window": Unwindowed(),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": (),
        "join": JoinPlan(kind, (A, B)[: 1 + kind.pairs]),
    }
    return checked_plan(Plan(**(defaults | parts)), DECLARATIONS)


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"join": JoinPlan(JoinKind.ANTI, (A, B))}, QueryError, "has rows of the left stream alone"),
        ({"join": JoinPlan(JoinKind.INNER, ())}, QueryError, "no columns besides its keys"),
        ({"emit": EmitPolicy.SPECULATIVE}, PolicyError, "no windows to be early for, got emit='speculative'"),
        ({"inputs": (replace(LEFT, late=correct(3)), RIGHT)}, PolicyError, "of left corrects windows"),
        ({"inputs": (LEFT, replace(RIGHT, most_held=9))}, PolicyError, "right sheds events"),
        (
            {"inputs": (LEFT, replace(RIGHT, most_held=9, fails_when_full=True))},
            PolicyError,
            "right fails at a key that is full, and a join does not count",
        ),
        (
            {"inputs": (LEFT, replace(RIGHT, progress=RIGHT.progress.with_key_punctuation()))},
            PolicyError,
            "keys of right punctuate themselves",
        ),
    ],
)
def test_columns_and_policies_that_mean_nothing_for_a_join_are_refused(
    parts: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        plan(**parts)


@pytest.mark.parametrize(
    ("fails_when_full", "message"),
    [
        (False, "the stream sheds events of a key that is full, and events without windows are kept only"),
        (True, "the stream fails at a key that is full, and events without windows are kept only"),
    ],
)
def test_events_without_windows_take_no_limit_of_events_that_a_key_holds(fails_when_full: bool, message: str) -> None:
    limited = replace(LEFT, most_held=9, fails_when_full=fails_when_full)
    with pytest.raises(PolicyError, match=message):
        plan(JoinKind.ANTI, inputs=(limited,))


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
def test_inputs_must_have_names_of_their_own_and_keys_and_times_of_one_type(right: Input, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        plan(inputs=(LEFT, right))


def test_no_evaluator_takes_three_inputs() -> None:
    with pytest.raises(QueryError, match="no evaluator takes the 3 inputs of this query, left, right, more: columnar,"):
        plan(inputs=(LEFT, RIGHT, replace(RIGHT, name="more")))


@pytest.mark.parametrize(
    ("inputs", "subject"),
    [((replace(LEFT, is_edge=True), RIGHT), "lifetimes of events of left"), ((RIGHT, LEFT), "inputs")],
)
def test_a_change_of_an_input_or_of_their_order_is_a_difference_to_the_checkpoint(
    inputs: tuple[Input, Input], subject: str
) -> None:
    stored = json.loads(json.dumps(plan_identity(plan())))
    check_plans([plan()], [stored], "there", DECLARATIONS)
    with pytest.raises(StateMismatchError) as refused:
        check_plans([plan(inputs=inputs)], [stored], "there", DECLARATIONS)
    assert subject in [difference.subject for difference in refused.value.differences]


def test_explain_tells_the_inputs_apart() -> None:
    lines = explain_plan(plan(inputs=(LEFT, replace(RIGHT, sources=("n", "s"))))).splitlines()
    assert any(line.startswith("progress    left: 5 ticks be") for line in lines)
    assert "progress    right: punctuation rows; the least of n, s" in lines


def test_the_clock_of_one_input_makes_the_source_of_another_one_idle() -> None:
    """The left input has a clock; the source of the right one is silent for ten ticks, longer than five."""
    trackers = [ProgressTracker(), ProgressTracker(ordered().with_idle(5, lag=2), ("a",))]
    progress = InputsProgress.start(2).advance(
        trackers, [Progress(clock=100), Progress()], [(), [Observation("a", 7, 1)]]
    )
    assert [input_progress.watermark for input_progress in progress.inputs] == [EARLIEST, 7]

    stored_progress = InputsProgress.from_data(json.loads(json.dumps(progress.to_data())))
    later_progress = stored_progress.advance(trackers, [Progress(clock=110), Progress()], [(), ()])
    assert [input_progress.watermark for input_progress in later_progress.inputs] == [EARLIEST, 108]
    assert later_progress.least.clock == 110


def test_an_evaluator_of_windows_cannot_run_a_join() -> None:
    with pytest.raises(QueryError, match="cannot run this query: the query has no windows"):
        plan(requested_evaluator="general")


def test_an_eager_join_has_columns_for_the_changes_of_its_results() -> None:
    assert plan(emit=EmitPolicy.FINAL).engine_columns == ("lifetime",)
    assert plan(emit=EmitPolicy.EAGER).engine_columns == ("lifetime", "change", "event_id", "new_end")


def test_a_left_join_has_the_columns_of_both_sides_and_another_identity_than_an_inner_one() -> None:
    assert [output.name for output in plan(JoinKind.LEFT).outputs] == ["a", "b"]
    assert plan_identity(plan(JoinKind.LEFT)) != plan_identity(plan(JoinKind.INNER))


@pytest.mark.parametrize(
    ("parts", "line"),
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
def test_explain_says_what_a_join_emits_and_when(parts: dict[str, Any], line: str) -> None:
    assert line in explain_plan(plan(**parts)).splitlines()


def test_samples_that_get_a_duration_are_samples_no_more() -> None:
    left = replace(LEFT, is_edge=True, lifetime_changes=(SetDuration(5),))
    assert [input.has_samples for input in plan(inputs=(left, RIGHT)).inputs] == [False, False]


def test_events_that_are_changed_to_edges_are_samples() -> None:
    left = replace(LEFT, lifetime_changes=(ToEdges(), Shift(3)))
    assert [input.has_samples for input in plan(inputs=(left, RIGHT)).inputs] == [True, False]
