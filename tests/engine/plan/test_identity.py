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


def differing(first: str, second: str) -> list[str]:
    """Return the names of the parts in which the identities of two queries differ, results left out."""
    first_identity = plan_identity(value_of(f"query({first}, requested_evaluator='general')"))
    second_identity = plan_identity(value_of(f"query({second}, requested_evaluator='general')"))
    assert json.loads(json.dumps(second_identity)) == second_identity, "it is plain data"
    differing_names: list[str] = []
    for name in first_identity | second_identity:
        if name != "results" and first_identity.get(name) != second_identity.get(name):
            differing_names.append(name)
    return differing_names


@pytest.mark.parametrize("changed", CHANGES)
def test_what_the_state_depends_on_is_in_the_identity_and_nothing_else(changed: str) -> None:
    assert differing("Count", f"Count, {changed}") == CHANGES[changed]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[" and ".join(pair) for pair in PAIRS])
def test_queries_differ_by_what_a_checkpoint_keeps_of_them(first: str, second: str) -> None:
    assert differing(first, second) == PAIRS[first, second]


def test_parameters_are_spelled_the_same_each_time() -> None:
    identity = plan_identity(value_of("query(planned(Scaled, by=2.5, labels={'b', 'a'}), input=bounded_delay(5))"))
    assert identity["modules"] == [["show.scaled", "1.0.0", {"by": "2.5", "labels": "{'a', 'b'}"}, [0]]]


def test_the_types_of_results_count_where_they_may_be_retracted() -> None:
    assert plan_identity(value_of("query(Count)"))["results"] == []
    assert plan_identity(value_of("query(Count, **SPECULATIVE)"))["results"] == ["integer | None"]


def test_the_state_of_one_trigger_or_refinement_is_not_that_of_another() -> None:
    identities = [plan_identity(value_of(f"query(emit={emission})"))["emit"] for emission in EMISSIONS]
    assert [json.loads(json.dumps(emit)) for emit in identities] == identities
    assert len({json.dumps(emit) for emit in identities}) == len(EMISSIONS)


@pytest.mark.parametrize("text", ["query(Count, **EAGER)", "query(Statistics)", "query(Sketch)", "query(Members)"])
def test_the_state_does_not_depend_on_whether_late_rows_are_wanted(text: str) -> None:
    plan = value_of(text)
    assert plan_identity(with_choice(replace(plan, keeps_late_rows=True), DECLARATIONS)) == plan_identity(plan)


@pytest.mark.parametrize(("stored_age", "spelled_age"), [(30 * DAY, "30 days"), (None, "none")])
def test_a_checkpoint_is_of_one_silence_after_which_keys_are_forgotten(
    stored_age: int | None, spelled_age: str
) -> None:
    def identity_with(age: int | None) -> Mapping[str, Any]:
        return plan_identity(plan_of(window=landmark("1 day"), forget_keys_after=age, requested_evaluator="general"))

    stored = identity_with(stored_age)
    (difference,) = differences_between(stored, identity_with(7 * DAY))
    assert difference == Difference("silence after which keys are forgotten", spelled_age, "7 days")
    assert ("forget_keys_after" in stored) == (stored_age is not None)


def test_a_checkpoint_knows_a_query_without_windows_from_one_with_some() -> None:
    windowed = plan_identity(value_of("query(window=tumbling(5))"))
    without_windows = plan_identity(value_of("query(Steps, window=Unwindowed())"))
    differences = {difference.subject: difference for difference in differences_between(windowed, without_windows)}
    assert differences["window"].checkpoint == "tumbling('5 microseconds')"
    assert differences["window"].query == "no windows"


def test_the_parts_on_arrays_are_stored_and_differ_by_themselves_only_where_nothing_else_does() -> None:
    stored = plan_identity(value_of("query(Statistics)"))
    parts = {"geometry": "slices", "arrivals": "insertions", "held": "components of forms"}
    assert stored["arrays"] == parts
    assert "arrays" not in plan_identity(value_of("query(Members, requested_evaluator='general')"))
    changed = dict.fromkeys(parts, "others")
    alone = differences_between(stored, {**stored, "arrays": changed})
    assert [difference.subject for difference in alone] == ["parts of the evaluation on arrays"]
    with_buckets = differences_between(stored, {**stored, "arrays": changed, "buckets": 7})
    assert [difference.subject for difference in with_buckets] == ["buckets"]
