"""What a checkpoint remembers of a plan: all that its state depends on, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from muntin import landmark
from muntin_engine.errors import Difference
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.planner import with_choice
from muntin_engine.state.differences import differences_between
from tests.engine.plan.plans import plan_of
from tests.engine.plan.queries import value_of

DAY = 24 * 3600 * 1_000_000

CHANGES = {
    # a change of query(Count, requested_evaluator='general'), and what of the identity it changes
    "window=tumbling(5)": ["window"],
    "**CLIP_LEFT": ["clip"],
    "**TIMES_POINT_AT_END": ["timestamps"],
    "**EAGER": ["emit"],
    "emit=early(every_count(3))": ["emit"],
    "**EDGE": ["lifetimes"],
    "**LASTING": ["lifetimes"],
    "buckets=8": ["buckets"],
    "**TICKS": ["times"],
    "**column('start', 'at', 'timestamp_ntz')": ["times"],
    "**IDS": ["id"],
    "**keys(('key', 'int'))": ["keys"],
    "**keys(('other', 'string'))": ["keys"],
    "columns={'payload': (column('a', 'c0', 'int')['columns']['a'],)}": ["inputs"],
    "input=bounded_delay(5)": ["progress"],
    "input=bounded_disorder(5)": ["progress"],
    "input=input_of(sources=('a', 'b'))": ["sources"],
    "input=input_of(late=correct(5))": ["late"],
    "**column('start', 'other', 'timestamp')": [],
    "**PUNCTUATED": [],
}
PAIRS = {
    # two queries, and what differs
    ("Members", "Count"): ["modules"],
    ("planned(Count, 'n')", "planned(Count, 'other')"): [],
    ("input=ordered()", "input=input_of(bounded_delay(7).with_idle(5, lag=3), has_clock=True)"): [],
    ("input=bounded_disorder(3)", "input=bounded_disorder(4)"): ["progress"],
    ("input=Guarded(1)", "input=Guarded(2)"): [],
    ("input=Outvoted(1)", "input=Outvoted(2)"): [],
    ("input=Outvoted(1)", "input=Outvoted(1, of=3)"): ["progress"],
    ("input=input_of(ordered(), ('a', 'b'))", "input=input_of(ordered(), ('a',))"): ["sources"],
    ("late='side'", "late='drop'"): [],
    ("input=input_of(late=correct(5))", "input=input_of(late=correct(6))"): ["late"],
    ("input=input_of(most_held=5)", "input=input_of(most_held=6)"): [],
    ("First, order=1, **SEQ", "First, **SEQ"): ["order"],
}
EMISSIONS = (
    "early(every_count(3))",
    "early(every_count(4))",
    "early(every_count(3), refinement='retract')",
    "early(every_count(3), refinement=OnlyIfMoved(1))",
    "early(every_count(3), refinement=OnlyIfMoved(2))",
    "early(every_count(3), refinement=OtherThanBefore())",
)


def general_identity(arguments: str) -> dict[str, Any]:
    """Return the identity of a query on the general evaluator, which is plain data."""
    identity = plan_identity(value_of(f"query({arguments}, requested_evaluator='general')"))
    assert json.loads(json.dumps(identity)) == identity
    return identity


def differing_parts(first: str, second: str) -> list[str]:
    """Return the names of the parts in which the identities of two queries differ, results left out."""
    first_identity = general_identity(first)
    second_identity = general_identity(second)
    differing_names: list[str] = []
    for name in first_identity | second_identity:
        if name != "results" and first_identity.get(name) != second_identity.get(name):
            differing_names.append(name)
    return differing_names


@pytest.mark.parametrize("change", CHANGES)
def test_the_parts_of_a_query_that_its_state_depends_on_are_in_its_identity_and_no_others(change: str) -> None:
    assert differing_parts("Count", f"Count, {change}") == CHANGES[change]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[" and ".join(pair) for pair in PAIRS])
def test_the_identities_of_two_queries_differ_in_the_parts_that_their_states_depend_on(first: str, second: str) -> None:
    assert differing_parts(first, second) == PAIRS[first, second]


def test_parameters_are_text_in_which_the_order_of_a_set_is_always_the_same() -> None:
    identity = plan_identity(value_of("query(planned(Scaled, by=2.5, labels={'b', 'a'}), input=bounded_delay(5))"))
    assert identity["modules"] == [["show.scaled", "1.0.0", {"by": "2.5", "labels": "{'a', 'b'}"}, [0]]]


def test_the_types_of_results_count_where_they_may_be_retracted() -> None:
    assert plan_identity(value_of("query(Count)"))["results"] == []
    assert plan_identity(value_of("query(Count, **SPECULATIVE)"))["results"] == ["integer | None"]


def test_each_trigger_and_each_refinement_has_an_identity_of_its_own() -> None:
    identities = [general_identity(f"emit={emission}")["emit"] for emission in EMISSIONS]
    assert len({json.dumps(identity) for identity in identities}) == len(EMISSIONS)


@pytest.mark.parametrize("query", ["query(Count, **EAGER)", "query(Statistics)", "query(Sketch)", "query(Members)"])
def test_the_identity_does_not_depend_on_whether_late_rows_are_wanted(query: str) -> None:
    plan = value_of(query)
    plan_with_late_rows = with_choice(replace(plan, keeps_late_rows=True), DECLARATIONS)
    assert plan_identity(plan_with_late_rows) == plan_identity(plan)


@pytest.mark.parametrize(("stored_age", "spelled_age"), [(30 * DAY, "30 days"), (None, "none")])
def test_another_silence_after_which_keys_are_forgotten_is_a_difference(
    stored_age: int | None, spelled_age: str
) -> None:
    def identity_with(age: int | None) -> Mapping[str, Any]:
        return plan_identity(plan_of(window=landmark("1 day"), forget_keys_after=age, requested_evaluator="general"))

    stored = identity_with(stored_age)
    (difference,) = differences_between(stored, identity_with(7 * DAY))
    assert difference == Difference("silence after which keys are forgotten", spelled_age, "7 days")
    assert ("forget_keys_after" in stored) == (stored_age is not None)


def test_a_query_without_windows_differs_from_one_with_windows() -> None:
    windowed = plan_identity(value_of("query(window=tumbling(5))"))
    without_windows = plan_identity(value_of("query(Steps, window=Unwindowed())"))
    differences = {difference.subject: difference for difference in differences_between(windowed, without_windows)}
    assert differences["window"].checkpoint == "tumbling('5 microseconds')"
    assert differences["window"].query == "no windows"


def test_the_identity_has_the_parts_of_the_evaluation_on_arrays_only_where_arrays_are_used() -> None:
    on_arrays = plan_identity(value_of("query(Statistics)"))
    assert on_arrays["arrays"] == {"geometry": "slices", "arrivals": "insertions", "held": "components of forms"}
    assert "arrays" not in general_identity("Members")


def test_other_parts_of_the_evaluation_on_arrays_are_a_difference_only_if_there_is_no_other_one() -> None:
    stored = plan_identity(value_of("query(Statistics)"))
    other_parts = {"geometry": "others", "arrivals": "others", "held": "others"}
    other_arrays = {**stored, "arrays": other_parts}
    (difference,) = differences_between(stored, other_arrays)
    assert difference.subject == "parts of the evaluation on arrays"

    (difference,) = differences_between(stored, {**other_arrays, "buckets": 7})
    assert difference.subject == "buckets"
