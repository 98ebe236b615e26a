"""A plan: what it derives, what it refuses, and what a checkpoint remembers of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from muntin import (
    Aggregate,
    Axis,
    ClipPolicy,
    EmitPolicy,
    Event,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    correct,
    count_by_start,
    early,
    hopping,
    snapshot,
    tumbling,
)
from muntin.errors import ParameterError, PolicyError, QueryError, TypeMismatchError
from muntin.progress import bounded_delay, bounded_disorder
from muntin.query_checks import QueryShape
from muntin.triggers import Trigger, all_of, every, every_count, on_signal, reaches, repeat
from muntin_engine.plan import NamedColumn, Plan, check_kind, check_trigger
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.planner import keeping_late_rows
from tests.differential.forms import Statistics
from tests.plan.plans import AT, input_of, plan_of, planned
from tests.spark.modules import Count, Echo, Lifetimes, Members


class Span(NamedTuple):
    low: int
    high: int


class Scaled(Aggregate[int, int]):
    name, version = "show.scaled", "1.0.0"

    def __init__(self, by: Any = 1, *, labels: Any = ()) -> None:
        if by == 0:
            raise ValueError("by must not be 0")
        self.by = by

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class Spans(Operator[int, Span]):
    name, version = "show.spans", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[Span]:
        return []


class Bound(Operator[int, int]):
    name, version = "show.bound", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL, ClipPolicy.RIGHT})
    contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return []


class Free(Bound):
    name = "show.free"
    accepted_clips = frozenset(ClipPolicy)
    contract = OutputContract.UNRESTRICTED


def names(plan: Plan) -> list[str]:
    return [output.name for output in plan.outputs]


# what it derives


def test_an_aggregate_has_a_column_by_the_name_the_query_gives_it() -> None:
    plan = plan_of(planned(Count, "n", inputs=0), planned(Members, "m"))
    assert names(plan) == ["n", "m"]
    assert not plan.is_operator


def test_an_operator_has_the_columns_of_its_row() -> None:
    assert names(plan_of(planned(Spans, ""))) == ["low", "high"]
    assert names(plan_of(planned(Echo, ""))) == ["value"]


@pytest.mark.parametrize(
    ("changed", "lifetimes"),
    [
        ({}, "point"),
        ({"columns": {"end": AT}}, "interval"),
        ({"is_edge": True}, "edge"),
    ],
)
def test_the_columns_say_how_long_events_last(changed: dict[str, Any], lifetimes: str) -> None:
    assert plan_of(**changed).input.lifetimes == lifetimes


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({}, False),
        ({"input": input_of(bounded_delay(0))}, True),
        ({"columns": {"change": NamedColumn("what", "string")}}, True),
    ],
)
def test_a_stream_ends_its_windows_by_a_delay_or_by_rows(changed: dict[str, Any], says: bool) -> None:
    assert plan_of(**changed).says_when_complete is says


@pytest.mark.parametrize(
    ("timestamps", "emit", "added"),
    [
        ("align", "final", ("window",)),
        ("point_at_end", "final", ("window", "lifetime")),
        ("unchanged", "speculative", ("window", "lifetime", "change", "event_id")),
        ("unchanged", "eager", ("window", "lifetime", "change", "event_id", "new_end")),
        ("align", "eager", ("window", "change", "event_id")),
    ],
)
def test_policies_add_columns(timestamps: str, emit: str, added: tuple[str, ...]) -> None:
    policies: dict[str, Any] = {
        "timestamps": TimestampPolicy(timestamps),
        "emit": EmitPolicy(emit),
        "clip": ClipPolicy.FULL,
    }
    assert plan_of(planned(Bound, ""), **policies).added == added


def test_early_results_say_when_they_were_put_out() -> None:
    trigger = every_count(10)
    assert plan_of(emit=early(trigger)).added == ("window", "timing", "firing")
    assert plan_of(emit=early(trigger, refinement="retract")).added == (
        "window",
        "change",
        "event_id",
        "timing",
        "firing",
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": {"id": NamedColumn("id", "bigint")}, "refinement": "discard"},
        {"is_edge": True, "refinement": "discard"},
        {"window": snapshot(), "refinement": "accumulate"},
        {"window": count_by_start(3), "refinement": "discard"},
    ],
)
def test_early_results_that_could_not_be_retracted_are_refused(changed: dict[str, Any]) -> None:
    given = {name: value for name, value in changed.items() if name != "refinement"}
    with pytest.raises(PolicyError, match="would never retract"):
        plan_of(emit=early(every_count(10), refinement=changed["refinement"]), **given)


@pytest.mark.parametrize(
    ("trigger", "columns", "message"),
    [
        (every(60), {}, r"waits for a clock, and this input has none\n  give events\(\) a change column"),
        (
            repeat(on_signal("dusk")),
            {"change": NamedColumn("what", "string")},
            "waits for 'dusk', and this input has no",
        ),
    ],
)
def test_a_trigger_that_waits_for_what_no_row_says_is_refused(
    trigger: Trigger, columns: dict[str, NamedColumn], message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        check_trigger(plan_of(emit=early(trigger), columns=columns))
    told = {"change": NamedColumn("what", "string"), "signal": NamedColumn("name", "string")}
    check_trigger(plan_of(emit=early(trigger), columns=told))


def test_a_trigger_that_reads_a_result_which_is_not_there_is_refused() -> None:
    plan_of(planned(Members), emit=early(repeat(reaches("m", 5))))
    with pytest.raises(PolicyError, match=r"reads the result 'y'\n  the query has m"):
        plan_of(planned(Members), emit=early(all_of(every_count(5), reaches("y", 5))))
    with pytest.raises(PolicyError, match=r"reads the result 'm'\n  the query is an operator"):
        plan_of(planned(Echo, ""), emit=early(reaches("m", 5)))


def test_early_results_do_not_change_which_rows_are_late() -> None:
    assert plan_of(emit=early(every_count(10))).steps == plan_of().steps == (tumbling("10 minutes"),)


@pytest.mark.parametrize(
    ("cls", "timestamps", "emit", "contract"),
    [
        (Echo, "unchanged", "eager", "window_based"),
        (Free, "unchanged", "final", "unrestricted"),
        (Free, "clip", "final", "window_based"),
        (Free, "clip", "eager", "window_based"),
        (Free, "align", "final", "window_based"),
        (Bound, "clip", "eager", "time_bound"),
        (Bound, "clip", "speculative", "window_based"),
        (Bound, "align", "eager", "window_based"),
        (Bound, "time_bound", "eager", "time_bound"),
        (Echo, "time_bound", "eager", "time_bound"),
    ],
)
def test_a_promise_holds_where_the_module_sets_the_lifetimes(
    cls: Any, timestamps: str, emit: str, contract: str
) -> None:
    policies: dict[str, Any] = {
        "timestamps": TimestampPolicy(timestamps),
        "emit": EmitPolicy(emit),
        "clip": ClipPolicy.FULL,
    }
    assert plan_of(planned(cls, ""), **policies).contract == contract


def test_aggregates_are_time_bound_where_the_query_says_so() -> None:
    plan = plan_of(planned(Count, "n"), timestamps=TimestampPolicy.TIME_BOUND, emit=EmitPolicy.EAGER)
    assert plan.contract is OutputContract.TIME_BOUND
    assert plan.added == ("window", "lifetime", "change", "event_id", "new_end")


@pytest.mark.parametrize("emit", [EmitPolicy.FINAL, EmitPolicy.SPECULATIVE, early(every_count(10))])
def test_time_bound_results_cannot_wait_for_their_windows(emit: Any) -> None:
    with pytest.raises(PolicyError, match=r"waits for its window\n  use emit='eager'"):
        plan_of(timestamps=TimestampPolicy.TIME_BOUND, emit=emit)


def test_a_module_that_sees_its_window_has_no_time_bound_result_of_a_snapshot() -> None:
    policies: dict[str, Any] = {"timestamps": TimestampPolicy.TIME_BOUND, "emit": EmitPolicy.EAGER}
    with pytest.raises(PolicyError, match="sees its window, and where a window of snapshot\\(\\) ends is not known"):
        plan_of(planned(Bound, ""), window=snapshot(), clip=ClipPolicy.FULL, **policies)
    assert plan_of(planned(Count, "n"), window=snapshot(), **policies).contract is OutputContract.TIME_BOUND


def test_the_reach_is_that_of_the_window() -> None:
    assert plan_of(window=tumbling(10, reach=4)).reach == 4
    assert plan_of(window=snapshot()).reach == 0


# what it refuses


@pytest.mark.parametrize("taken", ["key", "Key", "window", "WINDOW"])
def test_two_columns_of_one_name_are_refused(taken: str) -> None:
    with pytest.raises(QueryError, match=f"two columns named '{taken}'"):
        plan_of(planned(Count, taken))


def test_a_key_may_not_be_named_like_a_column_of_the_result() -> None:
    with pytest.raises(QueryError, match=r"two columns named 'window'(.|\n)*rename the key"):
        plan_of(columns={"keys": (NamedColumn("window", "string"),)})
    with pytest.raises(QueryError, match="two columns named 'low'"):
        plan_of(planned(Spans, ""), columns={"keys": (NamedColumn("low", "string"),)})


def test_a_name_is_free_where_no_policy_takes_it() -> None:
    assert names(plan_of(planned(Count, "change"), planned(Count, "lifetime"))) == ["change", "lifetime"]
    with pytest.raises(QueryError, match="two columns named 'change'"):
        plan_of(planned(Count, "change"), emit=EmitPolicy.EAGER)


@pytest.mark.parametrize("buckets", [0, -1, 257])
def test_a_number_of_buckets_that_cannot_be_spread_is_refused(buckets: int) -> None:
    with pytest.raises(QueryError, match=f"1 to 256 buckets, got {buckets}"):
        plan_of(buckets=buckets)


@pytest.mark.parametrize("window", ["10 minutes", 600, None])
def test_what_is_no_window_is_refused(window: Any) -> None:
    with pytest.raises(QueryError, match="is not a window specification"):
        QueryShape([Count()], window).check()


@pytest.mark.parametrize(
    "window", [tumbling(2**61), hopping(10, 2**61), tumbling(10, 2**61), tumbling(10, reach=2**61)]
)
def test_a_window_longer_than_the_axis_is_refused(window: Any) -> None:
    with pytest.raises(QueryError, match="too long for a window"):
        plan_of(window=window)


def test_a_clip_that_a_module_does_not_accept_is_refused() -> None:
    with pytest.raises(
        PolicyError, match=r"show\.bound 1\.0\.0 is not right under clip='none'\n  it accepts 'full', 'right'"
    ):
        plan_of(planned(Bound, ""))


@pytest.mark.parametrize("cls", [Count, Lifetimes, Spans])
def test_lifetimes_that_a_module_does_not_set_cannot_be_kept(cls: Any) -> None:
    with pytest.raises(PolicyError, match="returns no lifetimes"):
        plan_of(planned(cls, "" if cls.is_operator else "m"), timestamps=TimestampPolicy.UNCHANGED)


@pytest.mark.parametrize("parameters", [{"by": 0}, {"times": 3}])
def test_parameters_that_a_module_does_not_take_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"show\.scaled\(by: Any = 1") as caught:
        planned(Scaled, **parameters)
    assert caught.value.parameters == parameters


def test_columns_are_checked_before_they_are_taken_in() -> None:
    with pytest.raises(TypeMismatchError):
        planned(Members, inputs=2)


def test_an_aggregate_is_not_applied_and_an_operator_is_no_column() -> None:
    check_kind(Count, is_operator=False)
    check_kind(Echo, is_operator=True)
    with pytest.raises(QueryError, match=r"show\.echo is an operator, which returns rows: use \.apply"):
        check_kind(Echo, is_operator=False)
    with pytest.raises(QueryError, match=r"show\.count is an aggregate, which returns one value: use \.aggregate"):
        check_kind(Count, is_operator=True)


# what a checkpoint remembers


def test_the_identity_is_plain_data_and_the_same_each_time() -> None:
    plan = plan_of(planned(Scaled, by=2.5, labels={"b", "a"}), input=input_of(bounded_delay(5)))
    identity = plan_identity(plan)
    assert json.loads(json.dumps(identity)) == identity
    assert identity["modules"] == [["show.scaled", "1.0.0", {"by": "2.5", "labels": "{'a', 'b'}"}, [0]]]


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"window": tumbling(5)}, "window"),
        ({"clip": ClipPolicy.LEFT}, "clip"),
        ({"timestamps": TimestampPolicy.POINT_AT_END}, "timestamps"),
        ({"emit": EmitPolicy.EAGER}, "emit"),
        ({"emit": early(every_count(3))}, "emit"),
        ({"is_edge": True}, "lifetimes"),
        ({"buckets": 8}, "buckets"),
        ({"axis": Axis.TICKS}, "times"),
        ({"columns": {"start": NamedColumn("at", "timestamp_ntz")}}, "times"),
        ({"columns": {"end": AT}}, "lifetimes"),
        ({"columns": {"id": NamedColumn("id", "bigint")}}, "id"),
        ({"columns": {"keys": (NamedColumn("key", "int"),)}}, "keys"),
        ({"columns": {"keys": (NamedColumn("other", "string"),)}}, "keys"),
        ({"columns": {"payload": (NamedColumn("c0", "int"),)}}, "inputs"),
        ({"modules": (planned(Members),)}, "modules"),
        ({"input": input_of(bounded_delay(5))}, "progress"),
        ({"input": input_of(bounded_disorder(5))}, "progress"),
        ({"input": input_of(sources=("a", "b"))}, "sources"),
        ({"input": input_of(late=correct(5))}, "late"),
    ],
)
def test_what_the_state_depends_on_is_in_the_identity(changed: dict[str, Any], differs: str) -> None:
    before, after = (plan_identity(plan_of(wanted="general", **some)) for some in ({}, changed))
    differing = [name for name in before if before[name] != after[name]]
    assert [name for name in differing if name != "results"] == [differs]


def test_the_types_of_results_count_where_they_may_be_retracted() -> None:
    final, speculative = plan_identity(plan_of()), plan_identity(plan_of(emit=EmitPolicy.SPECULATIVE))
    assert (final["results"], speculative["results"]) == ([], ["integer | None"])


def test_the_state_of_one_trigger_is_not_that_of_another() -> None:
    emissions = [early(every_count(3)), early(every_count(4)), early(every_count(3), refinement="retract")]
    identities = [plan_identity(plan_of(emit=emission)) for emission in emissions]
    assert [json.loads(json.dumps(identity)) for identity in identities] == identities
    assert len({json.dumps(identity["emit"]) for identity in identities}) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"modules": (planned(Count, "other"),)},
        {"columns": {"start": NamedColumn("other", "timestamp")}},
        {"columns": {"change": NamedColumn("what", "string")}},
    ],
)
def test_what_the_state_does_not_depend_on_may_change(changed: dict[str, Any]) -> None:
    assert plan_identity(plan_of()) == plan_identity(plan_of(**changed))


def test_late_rows_that_are_kept_change_what_the_state_depends_on_only_where_there_were_slices() -> None:
    general, sliced = plan_of(planned(Count), emit=EmitPolicy.EAGER), plan_of(planned(Statistics))
    assert plan_identity(keeping_late_rows(general)) == plan_identity(general)
    assert plan_identity(sliced)["evaluator"] == "columnar"
    assert plan_identity(keeping_late_rows(sliced))["evaluator"] == "general"
