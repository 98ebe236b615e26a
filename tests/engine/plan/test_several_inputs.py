"""Which stream each input of a module is, and which columns: what fits, and what is refused where it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from muntin import Aggregate, tumbling
from muntin.errors import QueryError, TypeMismatchError
from muntin.schemas import Field, describe
from muntin.testing import Script
from muntin_engine import ModuleCall, StreamColumns, from_stream, module
from muntin_engine.errors import Difference
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan import ModulePlan
from muntin_engine.plan.explanation import topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.module_plan import plan_several, sources_of_inputs
from muntin_engine.state.differences import differences_between
from muntin_stats import Left as Lefts
from muntin_stats import MatchedShare
from muntin_stats import Right as Rights
from tests.modules.several_inputs import KeptMembers, Left, Members, Right
from tests.scenarios.query import Query
from tests.scenarios.stepping import final

T = TypeVar("T")
SOURCES = {"left": ("west", "west.far"), "right": ("east",)}


def planned(
    cls: Any = Members, /, sources: Mapping[str, tuple[str, ...]] = SOURCES, **columns: list[Field]
) -> ModulePlan:
    """Return a module whose columns come one after the other, after the source."""
    places = {"left": 1, "right": 3}
    return plan_several("m", cls, {}, sources, columns, 0, lambda name, number, _: places[name] + number)


def of_union() -> Query:
    """Return a query over three streams, of which a module reads two."""
    return Query(tumbling(10), (Members(),), lifetimes="intervals", sources=((),) * 3)


def number(name: str, annotation: Any = int) -> Field:
    return describe(annotation, name)


def test_a_row_is_a_payload_of_the_input_that_its_source_says() -> None:
    plan = planned(left=[number("a")], right=[number("b"), number("c")])
    assert plan.select(("west", 1, None, 2, 3)) == Left(1)
    assert plan.select(("west.far", 1, None, 2, 3)) == Left(1)
    assert plan.select(("east", 1, None, 2, 3)) == Right(2, 3)
    assert plan.select(("east", None, None, 2, None)) == Right(2, None)
    assert plan.select(("west", None, None, 2, 3)) is SKIPPED, "a null that its input does not read"
    assert plan.select(("south", 1, None, 2, 3)) is SKIPPED, "of no input"
    assert plan.select((None, 1, None, 2, 3)) is SKIPPED
    assert plan.skips_rows
    without_extra = planned(left=[number("a")], right=[number("b")])
    assert without_extra.select(("east", None, None, 2, 3)) == Right(2)


def test_a_checkpoint_knows_which_stream_is_which_input() -> None:
    plans = [
        planned(Members, sources, left=[number("a")], right=[number("b")])
        for sources in ({"left": ("a",), "right": ("b",)}, {"left": ("b",), "right": ("a",)})
    ]
    first, second = (json.dumps(plan.identity()) for plan in plans)
    assert first != second
    assert planned(KeptMembers, left=[number("a")], right=[number("b")]).identity()[4:] == [
        "counted",
        {"left": [["west", "west.far"], [1]], "right": [["east"], [3]]},
    ]


def test_a_checkpoint_of_other_streams_is_told_with_both() -> None:
    plan = of_union().plan()
    (module,) = plan.modules
    left, right = module.inputs
    changed = replace(plan, modules=(replace(module, inputs=(replace(left, sources=("c",)), right)),))
    (difference,) = differences_between(json.loads(json.dumps(plan_identity(plan))), plan_identity(changed))
    assert difference == Difference(
        "module",
        "both.members 1.0.0, left left of a, right right of b",
        "both.members 1.0.0, left left of c, right right of b",
    )


def test_nulls_that_an_input_does_not_read_are_counted_in_rows_of_its_streams_alone() -> None:
    nulls = Script().insert(1, 1, 2, None).insert(2, 1, 2, None)
    for place, skipped in enumerate((2, 2, 0)):
        streams = [nulls if place == of else Script() for of in range(3)]
        assert final(of_union(), *streams).counts["skipped:result"] == skipped


def test_a_type_variable_is_of_one_type_in_all_inputs() -> None:
    plan = planned(MatchedShare, left=[number("a", str)], right=[number("b", str | None)])
    assert plan.select(("west", "x", None, None)) == Lefts("x")
    assert plan.select(("east", None, None, "y")) == Rights("y")
    with pytest.raises(
        TypeMismatchError, match=r"the input right of stats\.matched_share reads string.*, but the column b is integer"
    ):
        planned(MatchedShare, left=[number("a", str)], right=[number("b")])

    class Largest(Aggregate[Lefts[T] | Rights[T], T]):
        name, version = "demo.largest", "1.0.0"

        def compute_result(self, payloads: Any) -> Any:
            return max(payload.value for payload in payloads)

    assert planned(Largest, left=[number("a")], right=[number("b")]).result.type == number("a").type


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"left": [], "right": [number("b")]}, r"the input left of both\.members takes struct<.*>, got no column"),
        (
            {"left": [number("a"), number("b")], "right": [number("b")]},
            r"the input left of both\.members takes struct<number: integer>, got 2 columns: a integer, b integer",
        ),
        (
            {"left": [number("a")], "right": [number("b", str)]},
            r"the input right of both\.members reads integer, but the column b is string",
        ),
    ],
)
def test_columns_that_do_not_fit_an_input_are_told_with_its_name(columns: dict[str, list[Field]], message: str) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        planned(Members, SOURCES, **columns)


def test_an_input_is_the_stream_of_its_name_with_all_sources_of_that_stream() -> None:
    streams = {"left": "west", "right": "right"}
    sources = sources_of_inputs(Members, streams, ("west.near", "right", "western", "west.far"))
    assert sources == {"left": ("west.near", "west.far"), "right": ("right",)}


@pytest.mark.parametrize(
    ("streams", "sources", "message"),
    [
        ({"left": "left", "right": "right"}, (), r"the events are of one stream\n  .*union\(left=..., right=...\)"),
        (
            {"left": "left", "right": "east"},
            ("left.a", "left.b", "right"),
            r"the input right of both\.members is the stream east, and there is none of this name: left, right\n"
            r"  name it so, union\(left=..., east=...\), or say which it is: right=from_stream\(",
        ),
        (
            {"left": "a", "right": "a"},
            ("a", "b"),
            r"the inputs left and right of both\.members read one stream, a, and an event is of one",
        ),
    ],
)
def test_streams_that_are_not_there_or_are_two_inputs_are_refused(
    streams: dict[str, str], sources: tuple[str, ...], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        sources_of_inputs(Members, streams, sources)


def test_a_call_names_inputs_like_parameters() -> None:
    call = module(Members, left="a", right=("b", "c"))
    assert call == ModuleCall(
        Members, (), {}, streams={"left": StreamColumns("left", ("a",)), "right": StreamColumns("right", ("b", "c"))}
    )
    reading_both = module(Members, left=from_stream("west", "a"), right=["b"])
    assert reading_both.streams == {"left": StreamColumns("west", ("a",)), "right": StreamColumns("right", ("b",))}


@pytest.mark.parametrize(
    ("inputs", "arguments", "message"),
    [
        (
            ("a", "b"),
            {},
            r"both\.members reads 2 inputs, left, right, and columns by place do not say of which\n  write",
        ),
        (
            (),
            {"left": "a"},
            r"the query does not say what right is\n  write module\('both\.members', left='<column>', r",
        ),
        ((), {"left": "a", "right": 5}, "right=5 is not a column"),
        ((), {"left": "a", "right": ("b", None)}, "right=None is not a column"),
    ],
)
def test_calls_that_do_not_say_what_an_input_is_are_refused(
    inputs: tuple[str, ...], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        module(Members, *inputs, **arguments)


def test_a_stream_and_its_columns_have_names() -> None:
    with pytest.raises(QueryError, match="is a name, got 5"):
        from_stream(5)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="is not a column"):
        from_stream("a", 5)  # type: ignore[arg-type]


def test_explain_says_what_each_input_is() -> None:
    topics = dict(topics_of(of_union().plan()))
    assert topics["inputs"] == (
        "left is left of a; right is right of b; a window with events of one of them has a result as well"
    )
