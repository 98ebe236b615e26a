"""Modules of several inputs: which stream each input is, and which columns it has."""

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
"""The sources of each input."""


def planned(
    cls: Any = Members, /, sources: Mapping[str, tuple[str, ...]] = SOURCES, **columns: list[Field]
) -> ModulePlan:
    """Return a module whose inputs, `left` and `right`, have these columns.

    In a row, the source is in place 0; columns of `left` are in places 1 and 2, and those of `right` in 3 and 4.
    """
    first_places = {"left": 1, "right": 3}
    return plan_several("m", cls, {}, sources, columns, 0, lambda name, number, _: first_places[name] + number)


def query_of_union() -> Query:
    """Return a query over three streams, of which a module reads two."""
    return Query(tumbling(10), (Members(),), lifetimes="intervals", sources=((),) * 3)


def column(name: str, annotation: Any = int) -> Field:
    return describe(annotation, name)


def test_a_row_is_a_payload_of_the_input_that_has_its_source() -> None:
    plan = planned(left=[column("a")], right=[column("b"), column("c")])
    # a row: its source, two places of the left input, and two of the right one
    assert plan.select(("west", 1, None, 2, 3)) == Left(1)
    assert plan.select(("west.far", 1, None, 2, 3)) == Left(1)
    assert plan.select(("east", 1, None, 2, 3)) == Right(2, 3)
    assert plan.select(("east", None, None, 2, None)) == Right(2, None)


def test_a_row_of_no_input_and_one_with_a_forbidden_null_are_skipped() -> None:
    plan = planned(left=[column("a")], right=[column("b"), column("c")])
    assert plan.skips_rows
    # a row: its source, two places of the left input, and two of the right one
    assert plan.select(("south", 1, None, 2, 3)) is SKIPPED, "a source of no input"
    assert plan.select((None, 1, None, 2, 3)) is SKIPPED, "no source"
    assert plan.select(("west", None, None, 2, 3)) is SKIPPED, "a null that its input does not read"


def test_a_field_of_a_payload_with_a_default_may_have_no_column() -> None:
    plan = planned(left=[column("a")], right=[column("b")])
    assert plan.select(("east", None, None, 2, 3)) == Right(2)


def test_the_identity_of_a_module_says_which_sources_and_columns_each_input_has() -> None:
    identity = planned(KeptMembers, left=[column("a")], right=[column("b")]).identity()
    assert identity[4:] == ["counted", {"left": [["west", "west.far"], [1]], "right": [["east"], [3]]}]


def test_a_module_whose_inputs_are_exchanged_has_another_identity() -> None:
    columns = {"left": [column("a")], "right": [column("b")]}
    plan = planned(Members, {"left": ("a",), "right": ("b",)}, **columns)
    exchanged_plan = planned(Members, {"left": ("b",), "right": ("a",)}, **columns)
    assert json.dumps(plan.identity()) != json.dumps(exchanged_plan.identity())


def test_a_difference_names_the_streams_of_the_checkpoint_and_of_the_query() -> None:
    plan = query_of_union().plan()
    (module,) = plan.modules
    left, right = module.inputs
    changed_module = replace(module, inputs=(replace(left, sources=("c",)), right))
    changed_plan = replace(plan, modules=(changed_module,))

    stored = json.loads(json.dumps(plan_identity(plan)))
    (difference,) = differences_between(stored, plan_identity(changed_plan))
    # "left left of a": the input left is the column left of the stream a
    assert difference == Difference(
        "module",
        "both.members 1.0.0, left left of a, right right of b",
        "both.members 1.0.0, left left of c, right right of b",
    )


@pytest.mark.parametrize(
    ("stream", "skipped"), [(0, 2), (1, 2), (2, 0)], ids=["the left input", "the right input", "a stream of no input"]
)
def test_rows_with_nulls_are_counted_as_skipped_only_in_streams_that_the_module_reads(
    stream: int, skipped: int
) -> None:
    streams = [Script(), Script(), Script()]
    streams[stream] = Script().insert(1, start=1, end=2, payload=None).insert(2, start=1, end=2, payload=None)
    assert final(query_of_union(), *streams).counts["skipped:result"] == skipped


def test_a_type_variable_of_two_inputs_is_bound_to_the_type_of_both_columns() -> None:
    plan = planned(MatchedShare, left=[column("a", str)], right=[column("b", str | None)])
    assert plan.select(("west", "x", None, None)) == Lefts("x")
    assert plan.select(("east", None, None, "y")) == Rights("y")


def test_columns_of_different_types_for_one_type_variable_of_two_inputs_are_refused() -> None:
    with pytest.raises(
        TypeMismatchError, match=r"the input right of stats\.matched_share reads string.*, but the column b is integer"
    ):
        planned(MatchedShare, left=[column("a", str)], right=[column("b")])


def test_a_result_whose_type_is_that_of_a_column_has_the_type_of_the_column() -> None:
    class Largest(Aggregate[Lefts[T] | Rights[T], T]):
        name, version = "demo.largest", "1.0.0"

        def compute_result(self, payloads: Any) -> Any:
            return max(payload.value for payload in payloads)

    assert planned(Largest, left=[column("a")], right=[column("b")]).result.type == column("a").type


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"left": [], "right": [column("b")]}, r"the input left of both\.members takes struct<.*>, got no column"),
        (
            {"left": [column("a"), column("b")], "right": [column("b")]},
            r"the input left of both\.members takes struct<number: integer>, got 2 columns: a integer, b integer",
        ),
        (
            {"left": [column("a")], "right": [column("b", str)]},
            r"the input right of both\.members reads integer, but the column b is string",
        ),
    ],
)
def test_the_error_for_columns_that_do_not_fit_names_the_input(columns: dict[str, list[Field]], message: str) -> None:
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
def test_streams_that_there_are_not_or_that_are_two_inputs_are_refused(
    streams: dict[str, str], sources: tuple[str, ...], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        sources_of_inputs(Members, streams, sources)


def test_a_call_names_the_columns_of_an_input_like_a_parameter() -> None:
    call = module(Members, left="a", right=("b", "c"))
    streams = {"left": StreamColumns("left", ("a",)), "right": StreamColumns("right", ("b", "c"))}
    assert call == ModuleCall(Members, (), {}, streams=streams)


def test_an_input_may_be_a_stream_of_another_name() -> None:
    call = module(Members, left=from_stream("west", "a"), right=["b"])
    assert call.streams == {"left": StreamColumns("west", ("a",)), "right": StreamColumns("right", ("b",))}


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


def test_a_stream_or_a_column_that_is_not_named_by_a_text_is_refused() -> None:
    with pytest.raises(QueryError, match="is a name, got 5"):
        from_stream(5)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="is not a column"):
        from_stream("a", 5)  # type: ignore[arg-type]


def test_explain_says_what_each_input_is() -> None:
    topics = dict(topics_of(query_of_union().plan()))
    assert topics["inputs"] == (
        "left is left of a; right is right of b; a window with events of one of them has a result as well"
    )
