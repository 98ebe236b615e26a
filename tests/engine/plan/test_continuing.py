"""A query is told on the driver where a checkpoint differs from it, in code too, and what else would help."""

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


def refusal(stored: Plan, query_plan: Plan) -> StateMismatchError:
    """Return the error of a query that starts with the checkpoint of another one, whose identity went through JSON."""
    with pytest.raises(StateMismatchError) as caught:
        check_plans([query_plan], [json.loads(json.dumps(plan_identity(stored)))], "s3://a/b", DECLARATIONS)
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


def test_all_differences_are_told_at_once_with_the_checkpoint() -> None:
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
def test_aggregates_that_were_added_removed_or_moved_are_told_apart(change: str) -> None:
    classes: dict[str, type[Module]] = {cls.__name__: cls for cls in (First, Without, Count)}

    def plan_with(names: str) -> Plan:
        plans = [planned(classes[name], f"m{place}") for place, name in enumerate(names.split(", "))]
        return plan_of(*plans, requested_evaluator="general")

    stored, changed = change.split(" -> ")
    texts = {name: f"{cls.name} {cls.version} of c0" for name, cls in classes.items()}
    expected = [text.format_map(texts) for text in MODULES[change]]
    assert list(map(str, refusal(plan_with(stored), plan_with(changed)).differences)) == expected


def test_an_aggregate_that_was_added_over_a_new_column_changes_no_other_one() -> None:
    first = planned(First)
    stored = plan_of(first, columns={"payload": (KM,)})
    changed = plan_of(planned(Count), replace(first, output="n", columns=(1,)), columns={"payload": (FARE, KM)})
    differences = [str(difference) for difference in refusal(stored, changed).differences]
    assert [text for text in differences if text.startswith(("aggregate", "module"))] == [
        f"aggregate: {Count.name} {Count.version} of fare was added"
    ]


def test_a_query_goes_on_with_what_it_wrote_and_with_what_its_modules_upgrade() -> None:
    for before, after in ((First, First), (First, Second)):
        stored = plan_identity(plan_of(modules=(planned(before),)))
        check_plans([plan_of(modules=(planned(after),))], [json.loads(json.dumps(stored))], "checkpoint", DECLARATIONS)


def test_an_evaluator_that_would_go_on_is_named() -> None:
    stored = plan_of(modules=(planned(First),), requested_evaluator="general")
    error = refusal(stored, plan_of(modules=(planned(First),)))
    assert error.differences == (Difference("evaluator", "general", "sliced"),)
    assert error.remedies == ("go on with window(..., evaluator='general')",)


def test_the_reason_is_given_where_an_evaluator_cannot_go_on() -> None:
    error = refusal(plan_of(modules=(planned(First),)), plan_of(modules=(planned(NoMerging),)))
    assert error.differences == (Difference("evaluator", "sliced", "grouped"),)
    assert error.remedies == ("the sliced evaluator cannot run this query: test.total 1.3 has no combine",)


def test_another_number_of_queries_is_refused() -> None:
    plan = plan_of()
    with pytest.raises(StateMismatchError) as caught:
        check_plans([plan], [plan_identity(plan), plan_identity(plan)], "checkpoint", DECLARATIONS)
    assert caught.value.differences == (Difference("queries one after the other", "2", "1"),)


def test_components_that_change_under_the_same_version_are_reported() -> None:
    def compatibility(*components: str) -> Compatibility:
        stored_components = [[name, "add", "float64", []] for name in components]
        return Compatibility(
            {"modules": [["test.mean", "1.0", {}, []]], "components": [stored_components]}, [First()], [First()]
        )

    with pytest.raises(StateMismatchError) as caught:
        compatibility("total", "count").check(compatibility("sum").identity)
    assert caught.value.differences == (
        Difference(
            "components of partial states",
            "test.mean keeps sum (add of float64)",
            "test.mean keeps total (add of float64), count (add of float64)",
        ),
    )
    assert caught.value.remedies == ("let the modules whose components changed have a new version, with upgrade_state",)


# A checkpoint knows the versions of functions and the code of modules that it began with.


CALLED = CodeInUse("rides.fare", "1.0.0", "code-1", is_function=True)
TOTAL = CodeInUse("test.total", "1.2", "code-1")


def having(*code: CodeInUse) -> Plan:
    return replace(plan_of(), code=code)


def check_code(stored: Plan, query_plan: Plan) -> None:
    check_plans([query_plan], [json.loads(json.dumps(plan_identity(stored)))], "s3://a/b", DECLARATIONS)


def differences(stored: CodeInUse, **changed: Any) -> StateMismatchError:
    with pytest.raises(StateMismatchError) as refusal:
        check_code(having(stored), having(replace(stored, **changed)))
    return refusal.value


def test_another_version_of_a_function_is_refused_as_that_of_a_module_is() -> None:
    error = differences(CALLED, version="2.0.0")
    assert str(error).splitlines()[1:] == [
        "  function: the checkpoint has rides.fare 1.0.0, the query has rides.fare 2.0.0",
        "  rides.fare 2.0.0 does not continue from 1.0.0: say continues_since = '1.0.0' if results mean the same",
        "  start the changed query with a new checkpoint, or change it back",
    ]
    older = differences(CALLED, version="0.9", continues_since="0.1")
    assert "rides.fare 0.9 is older than 1.0.0" in str(older)


@pytest.mark.parametrize("since", ["1.0.0", "0.9"])
def test_a_function_goes_on_from_the_versions_that_it_names(since: str) -> None:
    check_code(having(CALLED), having(replace(CALLED, version="2.0.0", code="code-2", continues_since=since)))
    with pytest.raises(StateMismatchError):
        check_code(having(CALLED), having(replace(CALLED, version="2.0.0", continues_since="1.0.1")))


def test_a_function_that_only_one_of_them_calls_is_no_difference() -> None:
    check_code(having(CALLED, TOTAL), having(TOTAL))
    check_code(having(TOTAL), having(CALLED, TOTAL))


def test_changed_code_of_the_same_version_goes_on_unless_the_module_requires_the_same() -> None:
    check_code(having(TOTAL), having(replace(TOTAL, code="code-2")))
    error = differences(replace(TOTAL, requires_same_code=True), code="code-2")
    assert str(error).splitlines()[1:3] == [
        "  code: the checkpoint has test.total code-1, the query has test.total code-2",
        "  test.total requires the same code: give it a new version, and say continues_since = '1.2' if results mean "
        "the same",
    ]


def test_what_requires_the_same_code_goes_on_with_a_version_that_continues() -> None:
    stored = replace(CALLED, requires_same_code=True)
    check_code(having(stored), having(replace(stored, version="1.1", code="code-2", continues_since="1.0.0")))


def test_the_code_that_a_checkpoint_began_with_is_known_until_there_is_a_new_version() -> None:
    first = plan_identity(having(TOTAL, CALLED))
    second = plan_identity(having(replace(TOTAL, code="code-2"), CALLED))
    assert changed_code(first, second) == [("test.total", "1.2", "code-1", "code-2")]
    stored = with_stored_hashes(second, first)
    third = plan_identity(having(replace(TOTAL, code="code-3"), CALLED))
    assert changed_code(stored, third) == [("test.total", "1.2", "code-1", "code-3")]
    newer = plan_identity(having(replace(TOTAL, version="1.3", code="code-3"), CALLED))
    assert changed_code(stored, newer) == []
    assert with_stored_hashes(newer, stored) == newer


def notices(stored: Plan, changed: Plan, *progress: Progress) -> list[str]:
    """Return the notices for a user whose query goes on with a checkpoint that has reached a progress."""
    identity = json.loads(json.dumps(plan_identity(stored)))
    return check_plans([changed], [identity], "checkpoint", DECLARATIONS, (), lambda: progress)


SUM = planned(Sum, Sum.name)
MAX = planned(Max, Max.name)
SO_FAR = Progress(watermark=ticks("1 hour"), horizon=ticks("3 hours"), newest=ticks("2 hours"))


ADDED = "stats.max 0.1.0 of c0 was added and sees rows from now on: it is complete for windows that "


def test_a_removed_aggregate_is_told() -> None:
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


def test_an_aggregate_over_rows_that_wait_is_complete_at_once_if_they_have_its_columns() -> None:
    members = planned(PlainMembers, "a")
    count = planned(PlainLast, "b")
    assert notices(plan_of(members), plan_of(members, count), SO_FAR) == []
    two_columns = {"payload": (NamedColumn("c0", "bigint"), NamedColumn("c1", "bigint"))}
    of_both = planned(PlainBoth, "b", inputs=2)
    with pytest.raises(StateMismatchError, match="it cannot be added: the rows that the checkpoint holds have no c1"):
        notices(plan_of(members), plan_of(members, of_both, columns=two_columns))


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
def test_a_mended_function_is_told_what_to_write_and_goes_on_with_it(function: Any, returns: Any, advice: str) -> None:
    name = f"function.{function.__name__}"

    def plain(version: str) -> Plan:
        cls = function_aggregate(function, 1, name=name, version=version, returns=returns)
        return plan_of(modules=(planned(cls),))

    error = refusal(plain("code-1"), plain("code-2"))
    assert advice in error.remedies[0]
    call = error.remedies[0].partition("write module(")[2].partition("), with ")[0].rpartition(", 'c0'")[0]
    names = {"largest": largest, "middle": middle, "ptp": np.ptp, **vars(muntin_adapters)}
    cls = eval(call, names)  # the advice, followed
    stored = [json.loads(json.dumps(plan_identity(plain("code-1"))))]
    assert check_plans([plan_of(modules=(planned(cls),))], stored, "s3://a/b", DECLARATIONS) == []


def test_a_module_without_a_version_is_told_to_get_one() -> None:
    def plan_at(version: str) -> Plan:
        return plan_of(modules=(planned(type("Members", (PlainMembers,), {"version": version})),))

    error = refusal(plan_at("code-1"), plan_at("code-2"))
    assert error.remedies == (
        "test.members has no version, so the hash of its code is one: if results mean the same, give it a version such "
        "as '1.0.0', and say continues_since = 'code-1'",
    )


def test_a_type_that_changed_is_told_with_its_column_and_both_types() -> None:
    stored = plan_of(modules=(planned(First),), columns={"payload": (NamedColumn("km", "bigint"),)})
    changed = plan_of(modules=(planned(First),), columns={"payload": (NamedColumn("km", "int"),)})
    error = refusal(stored, changed)
    assert "type of the column km: the checkpoint has bigint, the query has int" in str(error)
    assert "cast it as it was: F.col('km').cast('bigint')" in error.remedies
    keyed_by_text = plan_of(columns={"keys": (NamedColumn("station", "string"),)})
    keyed_by_number = plan_of(columns={"keys": (NamedColumn("station", "int"),)})
    error = refusal(keyed_by_text, keyed_by_number)
    assert [str(part) for part in error.differences] == [
        "type of the column station: the checkpoint has string, the query has int"
    ]
    assert error.remedies == ("cast it as it was: F.col('station').cast('string')",)
