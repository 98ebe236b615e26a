"""A query that starts with a checkpoint: where the two differ, in code too, and what the errors advise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import muntin_adapters
from muntin import Aggregate, IncrementalAggregate, Module, ticks, tumbling
from muntin.modules.function_aggregate import function_aggregate
from muntin_engine.errors import Difference, StateMismatchError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import NamedColumn, Plan
from muntin_engine.plan.code_in_use import CodeInUse, changed_code, with_stored_hashes
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.time.changes import Progress
from muntin_stats import Max, Sum
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.engine.plan.queries import value_of
from tests.modules.members import Count
from tests.modules.schema_versions import First, Second, Without


class NoMerging(IncrementalAggregate[int, int, int]):
    """A newer version of `test.total`, that has no `combine`."""

    name, version = "test.total", "1.3"
    continues_since = "1.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


class PlainMembers(Aggregate[int, list[int]]):
    name, version = "test.members", "1.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return sorted(payloads)


class PlainLast(Aggregate[int, int]):
    name, version = "test.last", "1.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


class PlainBoth(Aggregate[tuple[int, int], int]):
    name, version = "test.both", "1.0"

    def compute_result(self, payloads: Sequence[tuple[int, int]]) -> int:
        return sum(map(sum, payloads))


def stored_identity(plan: Plan) -> Any:
    """Return the identity of a query as its checkpoint has it: read back from JSON."""
    return json.loads(json.dumps(plan_identity(plan)))


def refusal(stored: Plan, query_plan: Plan) -> StateMismatchError:
    """Return the error of a query that starts with the checkpoint of another one."""
    with pytest.raises(StateMismatchError) as caught:
        check_plans([query_plan], [stored_identity(stored)], "s3://a/b", DECLARATIONS)
    return caught.value


DIFFERENCES = {
    # the query that wrote the checkpoint, the query that is started, and the difference in the error
    ("window=hopping('10 minutes', '1 minute')", "window=tumbling('5 minutes', '30 seconds')"): (
        "window: the checkpoint has hopping('10 minutes', '1 minute'), "
        "the query has tumbling('5 minutes', offset='30 seconds')"
    ),
    ("window=tumbling(60), **TICKS", "window=tumbling(50), **TICKS"): (
        "window: the checkpoint has tumbling(60), the query has tumbling(50)"
    ),
    ("**keys(('a', 'int'))", "**keys(('a', 'int'), ('b', 'string'))"): (
        "keys: the checkpoint has a int, the query has a int, b string"
    ),
    ("", "input=input_of(late=correct('1 hour'))"): (
        "late rows: the checkpoint has none, the query has correct(1 hour)"
    ),
    ("", "input=bounded_disorder(5)"): (
        "progress: the checkpoint has punctuation, the query has bounded disorder of 5 rows"
    ),
    ("emit=early(every_count(5))", "**EAGER"): (
        "emit: the checkpoint has early(repeat 1(repeated=after_count 1(count=5)), refinement='accumulate'), "
        "the query has eager"
    ),
    (
        "emit=early(every_count(5), refinement=OnlyIfMoved(2))",
        "emit=early(every_count(5), refinement=OnlyIfMoved(3))",
    ): (
        "emit: the checkpoint has early(repeat 1(repeated=after_count 1(count=5)), "
        "refinement=test.only_if_moved 1(threshold=2)), the query has "
        "early(repeat 1(repeated=after_count 1(count=5)), refinement=test.only_if_moved 1(threshold=3))"
    ),
    ("", "buckets=8"): "buckets: the checkpoint has 16, the query has 8",
}


@pytest.mark.parametrize(("stored", "query"), DIFFERENCES, ids=[" to ".join(pair) for pair in DIFFERENCES])
def test_a_difference_is_reported_in_the_words_of_the_query(stored: str, query: str) -> None:
    error = refusal(value_of(f"query({stored})"), value_of(f"query({query})"))
    assert DIFFERENCES[stored, query] in [str(difference) for difference in error.differences]


def test_an_error_has_all_differences_and_names_the_checkpoint() -> None:
    error = refusal(plan_of(window=tumbling(60)), plan_of(window=tumbling(50), buckets=8))
    assert [difference.subject for difference in error.differences] == ["window", "buckets"]
    assert str(error).startswith("the checkpoint s3://a/b belongs to another query\n")
    assert str(error).endswith("  start the changed query with a new checkpoint, or change it back")


def test_a_module_is_named_with_both_versions_and_parameters() -> None:
    error = refusal(plan_of(modules=(planned(First),)), plan_of(modules=(planned(Without),)))
    assert error.differences == (Difference("module", "test.total 1.0 of c0", "test.total 1.1 of c0"),)
    assert error.remedies[0].startswith("test.total 1.1 does not continue from 1.0")


KM = NamedColumn("km", "double")
FARE = NamedColumn("fare", "double")


MODULES = {
    "First -> First, Count": ["aggregate: {Count} was added"],
    "First -> Count, First": ["aggregate: {Count} was added"],
    "Count, First -> First": ["aggregate: {Count} was removed"],
    "Count -> Count, Count": ["aggregate: {Count} was added"],
    "Count, First -> Count, Count": [
        "module: the checkpoint has {First}, which does not read nulls, the query has {Count}, which reads nulls"
    ],
    "First, Count -> Count, Without": ["module: the checkpoint has {First}, the query has {Without}"],
    "First -> Count, Without, Count": [
        "module: the checkpoint has {First}, the query has {Without}",
        "aggregate: {Count} was added",
        "aggregate: {Count} was added",
    ],
    "First, Count -> Count, First": [
        "order of modules: the checkpoint has {First}, {Count}, the query has {Count}, {First}"
    ],
}


@pytest.mark.parametrize("change", MODULES)
def test_errors_tell_aggregates_that_were_added_removed_or_moved_apart(change: str) -> None:
    classes: dict[str, type[Module]] = {cls.__name__: cls for cls in (First, Without, Count)}

    def plan_with(names: str) -> Plan:
        plans = [planned(classes[name], f"m{place}") for place, name in enumerate(names.split(", "))]
        return plan_of(*plans, requested_evaluator="general")

    stored_names, changed_names = change.split(" -> ")
    error = refusal(plan_with(stored_names), plan_with(changed_names))
    modules_in_words = {name: f"{cls.name} {cls.version} of c0" for name, cls in classes.items()}
    expected = [text.format_map(modules_in_words) for text in MODULES[change]]
    assert list(map(str, error.differences)) == expected


def test_an_aggregate_that_was_added_over_a_new_column_changes_no_other_one() -> None:
    first_of_km = planned(First)
    first_of_km_in_second_place = replace(first_of_km, output="n", columns=(1,))
    stored = plan_of(first_of_km, columns={"payload": (KM,)})
    changed = plan_of(planned(Count), first_of_km_in_second_place, columns={"payload": (FARE, KM)})
    differences = [str(difference) for difference in refusal(stored, changed).differences]
    assert [text for text in differences if text.startswith(("aggregate", "module"))] == [
        f"aggregate: {Count.name} {Count.version} of fare was added"
    ]


@pytest.mark.parametrize("module", [First, Second], ids=["the same version", "a version that upgrades states"])
def test_a_query_goes_on_with_a_state_of_its_module_or_of_a_version_that_this_one_upgrades(module: Any) -> None:
    stored = plan_of(modules=(planned(First),))
    check_plans([plan_of(modules=(planned(module),))], [stored_identity(stored)], "checkpoint", DECLARATIONS)


def test_an_error_names_the_evaluator_with_which_the_query_would_go_on() -> None:
    stored = plan_of(modules=(planned(First),), requested_evaluator="general")
    error = refusal(stored, plan_of(modules=(planned(First),)))
    assert error.differences == (Difference("evaluator", "general", "sliced"),)
    assert error.remedies == ("go on with window(..., evaluator='general')",)


def test_an_error_says_why_the_evaluator_of_the_checkpoint_cannot_run_the_query() -> None:
    error = refusal(plan_of(modules=(planned(First),)), plan_of(modules=(planned(NoMerging),)))
    assert error.differences == (Difference("evaluator", "sliced", "grouped"),)
    assert error.remedies == ("the sliced evaluator cannot run this query: test.total 1.3 has no combine",)


def test_another_number_of_queries_is_refused() -> None:
    plan = plan_of()
    with pytest.raises(StateMismatchError) as caught:
        check_plans([plan], [plan_identity(plan), plan_identity(plan)], "checkpoint", DECLARATIONS)
    assert caught.value.differences == (Difference("number of queries", "2", "1"),)


def test_components_that_change_under_the_same_version_are_reported() -> None:
    def compatibility_of_mean(*components: str) -> Compatibility:
        """Return what a module `test.mean` 1.0, which keeps some sums of floats, is compatible with."""
        stored_components = [[name, "add", "float64", []] for name in components]  # name, merge, type, shape
        identity = {"modules": [["test.mean", "1.0", {}, []]], "components": [stored_components]}
        return Compatibility(identity, [First()], [First()])

    stored = compatibility_of_mean("sum").identity
    with pytest.raises(StateMismatchError) as caught:
        compatibility_of_mean("total", "count").check(stored)
    assert caught.value.differences == (
        Difference(
            "components of partial states",
            "test.mean keeps sum (add of float64)",
            "test.mean keeps total (add of float64), count (add of float64)",
        ),
    )
    assert caught.value.remedies == ("let the modules whose components changed have a new version, with upgrade_state",)


# A checkpoint knows the versions of functions and the code of modules that it began with.


FARE_FUNCTION = CodeInUse("rides.fare", "1.0.0", code="code-1", is_function=True)
TOTAL_MODULE = CodeInUse("test.total", "1.2", code="code-1")


def plan_with_code(*code: CodeInUse) -> Plan:
    """Return a plan that runs functions and modules of these versions and hashes."""
    return replace(plan_of(), code=code)


def check_code(stored: Plan, query_plan: Plan) -> None:
    """Raise an error if a query cannot go on with the checkpoint of another one."""
    check_plans([query_plan], [stored_identity(stored)], "s3://a/b", DECLARATIONS)


def refusal_of_code(stored: CodeInUse, **changed_parts: Any) -> StateMismatchError:
    """Return the error of a query after a change of its code."""
    return refusal(plan_with_code(stored), plan_with_code(replace(stored, **changed_parts)))


def test_another_version_of_a_function_is_refused_as_that_of_a_module_is() -> None:
    error = refusal_of_code(FARE_FUNCTION, version="2.0.0")
    assert str(error).splitlines()[1:] == [
        "  function: the checkpoint has rides.fare 1.0.0, the query has rides.fare 2.0.0",
        "  rides.fare 2.0.0 does not continue from 1.0.0: say continues_since = '1.0.0' if results mean the same",
        "  start the changed query with a new checkpoint, or change it back",
    ]


def test_an_older_version_of_a_function_is_refused() -> None:
    error = refusal_of_code(FARE_FUNCTION, version="0.9", continues_since="0.1")
    assert "rides.fare 0.9 is older than 1.0.0" in str(error)


@pytest.mark.parametrize("since", ["1.0.0", "0.9"])
def test_a_function_goes_on_from_a_stored_version_since_which_it_continues(since: str) -> None:
    newer = replace(FARE_FUNCTION, version="2.0.0", code="code-2", continues_since=since)
    check_code(plan_with_code(FARE_FUNCTION), plan_with_code(newer))


def test_a_function_does_not_go_on_from_a_version_before_those_that_it_continues() -> None:
    assert refusal_of_code(FARE_FUNCTION, version="2.0.0", continues_since="1.0.1").differences


def test_a_function_that_only_the_checkpoint_or_only_the_query_calls_is_no_difference() -> None:
    check_code(plan_with_code(FARE_FUNCTION, TOTAL_MODULE), plan_with_code(TOTAL_MODULE))
    check_code(plan_with_code(TOTAL_MODULE), plan_with_code(FARE_FUNCTION, TOTAL_MODULE))


def test_changed_code_of_the_same_version_goes_on() -> None:
    check_code(plan_with_code(TOTAL_MODULE), plan_with_code(replace(TOTAL_MODULE, code="code-2")))


def test_changed_code_of_the_same_version_is_refused_if_the_module_requires_the_same_code() -> None:
    error = refusal_of_code(replace(TOTAL_MODULE, requires_same_code=True), code="code-2")
    assert str(error).splitlines()[1:3] == [
        "  code: the checkpoint has test.total code-1, the query has test.total code-2",
        "  test.total requires the same code: give it a new version, and say continues_since = '1.2' if results mean "
        "the same",
    ]


def test_a_function_that_requires_the_same_code_goes_on_with_a_new_version_that_continues() -> None:
    stored = replace(FARE_FUNCTION, requires_same_code=True)
    newer = replace(stored, version="1.1", code="code-2", continues_since="1.0.0")
    check_code(plan_with_code(stored), plan_with_code(newer))


def test_the_code_that_a_checkpoint_began_with_is_known_until_there_is_a_new_version() -> None:
    def identity_with(**changed_parts: Any) -> Any:
        return plan_identity(plan_with_code(replace(TOTAL_MODULE, **changed_parts), FARE_FUNCTION))

    # name, version, hash that the checkpoint began with, hash of the query
    first = identity_with()
    second = identity_with(code="code-2")
    assert changed_code(first, second) == [("test.total", "1.2", "code-1", "code-2")]

    stored = with_stored_hashes(second, first)
    assert changed_code(stored, identity_with(code="code-3")) == [("test.total", "1.2", "code-1", "code-3")]

    newer = identity_with(version="1.3", code="code-3")
    assert changed_code(stored, newer) == []
    assert with_stored_hashes(newer, stored) == newer


def notices(stored: Plan, changed: Plan, *progress: Progress) -> list[str]:
    """Return the notices for a user whose query goes on with a checkpoint that has reached a progress."""
    return check_plans([changed], [stored_identity(stored)], "checkpoint", DECLARATIONS, (), lambda: progress)


SUM = planned(Sum, Sum.name)
MAX = planned(Max, Max.name)
SO_FAR = Progress(watermark=ticks("1 hour"), horizon=ticks("3 hours"), newest=ticks("2 hours"))

ADDED = "stats.max 0.1.0 of c0 was added and sees rows from now on: it is complete for windows that "


def test_a_notice_says_that_an_aggregate_was_removed() -> None:
    sums = plan_of(SUM)
    maxima_and_sums = plan_of(MAX, SUM)
    assert notices(sums, sums, SO_FAR) == []
    assert notices(maxima_and_sums, sums, SO_FAR) == [
        "stats.max 0.1.0 of c0 was removed, and what was kept of it is dropped"
    ]


def test_an_added_aggregate_of_points_is_complete_for_windows_after_the_newest_start() -> None:
    sums = plan_of(SUM)
    maxima_and_sums = plan_of(MAX, SUM)
    assert notices(sums, maxima_and_sums, SO_FAR) == [f"{ADDED}start after 1970-01-01T02:00:00Z"]
    assert notices(sums, maxima_and_sums) == [f"{ADDED}have no event from before"]


def test_an_added_aggregate_of_lasting_events_is_complete_for_windows_from_the_horizon_on() -> None:
    lasting: dict[str, Any] = {"columns": {"end": NamedColumn("till", "timestamp")}}
    of_lasting_events = notices(plan_of(SUM, **lasting), plan_of(SUM, MAX, **lasting), SO_FAR)
    assert of_lasting_events == [f"{ADDED}start at 1970-01-01T03:00:00Z or later"]


def test_an_added_aggregate_of_a_state_of_rows_is_complete_at_once_if_the_rows_have_its_columns() -> None:
    members = planned(PlainMembers, "a")
    last = planned(PlainLast, "b")
    assert notices(plan_of(members), plan_of(members, last), SO_FAR) == []


def test_an_aggregate_of_a_column_that_stored_rows_do_not_have_cannot_be_added() -> None:
    members = planned(PlainMembers, "a")
    of_two_columns = planned(PlainBoth, "b", inputs=2)
    two_columns = {"payload": (NamedColumn("c0", "bigint"), NamedColumn("c1", "bigint"))}
    with pytest.raises(StateMismatchError, match="it cannot be added: the rows that the checkpoint holds have no c1"):
        notices(plan_of(members), plan_of(members, of_two_columns, columns=two_columns))


def test_sources_join_and_leave_as_long_as_one_stays() -> None:
    def plan_with_sources(*sources: str) -> Plan:
        columns = {"source": NamedColumn("link", "string")}
        return plan_of(SUM, input=input_of(sources=sources), columns=columns)

    assert notices(plan_with_sources("a", "b"), plan_with_sources("b", "c"), SO_FAR) == [
        "the source c joins at the watermark at 1970-01-01T01:00:00Z: its rows before that are late",
        "the source a is not waited for any more, and its rows are rejected",
    ]
    assert refusal(plan_with_sources("a"), plan_with_sources("b")).differences == (Difference("sources", "a", "b"),)
    assert refusal(plan_with_sources("a"), plan_of(SUM)).differences == (Difference("sources", "a", "none"),)


def largest(km: list[float]) -> float:
    return max(km)


def middle(km: pd.Series) -> float:
    return float(km.median())


@pytest.mark.parametrize(
    ("function", "returns", "advice"),
    [
        (largest, None, "from_function(largest, name='function.largest', version='1.0.0', continues_since='code-1'"),
        (
            np.ptp,
            float,
            "from_array_function(ptp, name='function.ptp', version='1.0.0', continues_since='code-1', input=int, "
            "result=float",
        ),
        (
            middle,
            None,
            "from_series_function(middle, name='function.middle', version='1.0.0', continues_since='code-1', "
            "input=int, result=float",
        ),
    ],
)
def test_the_error_of_a_changed_function_says_what_to_write_and_with_that_the_query_goes_on(
    function: Any, returns: Any, advice: str
) -> None:
    def plan_at(version: str) -> Plan:
        name = f"function.{function.__name__}"
        cls = function_aggregate(function, 1, name=name, version=version, returns=returns)
        return plan_of(modules=(planned(cls),))

    (remedy,) = refusal(plan_at("code-1"), plan_at("code-2")).remedies
    assert advice in remedy

    # Follow the advice: evaluate the first argument of `module(...)` in it.
    arguments = remedy.partition("write module(")[2].partition("), with ")[0]
    call = arguments.rpartition(", 'c0'")[0]
    advised_class = eval(call, {"largest": largest, "middle": middle, "ptp": np.ptp, **vars(muntin_adapters)})
    assert notices(plan_at("code-1"), plan_of(modules=(planned(advised_class),))) == []


def test_the_error_of_a_module_without_a_version_says_to_give_it_one() -> None:
    def plan_at(version: str) -> Plan:
        return plan_of(modules=(planned(type("Members", (PlainMembers,), {"version": version})),))

    error = refusal(plan_at("code-1"), plan_at("code-2"))
    assert error.remedies == (
        "test.members has no version, so the hash of its code counts as one: if results mean the same, give it a "
        "version such as '1.0.0', and say continues_since = 'code-1'",
    )


def test_an_error_names_the_column_of_a_module_whose_type_changed_and_both_types() -> None:
    stored = plan_of(modules=(planned(First),), columns={"payload": (NamedColumn("km", "bigint"),)})
    changed = plan_of(modules=(planned(First),), columns={"payload": (NamedColumn("km", "int"),)})
    error = refusal(stored, changed)
    assert "type of the column km: the checkpoint has bigint, the query has int" in str(error)
    assert "cast it as it was: F.col('km').cast('bigint')" in error.remedies


def test_an_error_names_the_key_whose_type_changed_and_both_types() -> None:
    keyed_by_text = plan_of(columns={"keys": (NamedColumn("station", "string"),)})
    keyed_by_number = plan_of(columns={"keys": (NamedColumn("station", "int"),)})
    error = refusal(keyed_by_text, keyed_by_number)
    (difference,) = error.differences
    assert str(difference) == "type of the column station: the checkpoint has string, the query has int"
    assert error.remedies == ("cast it as it was: F.col('station').cast('string')",)
