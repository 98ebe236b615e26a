"""A query as it is shown and named, and plans with policies and modules of a user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin import hopping, snapshot, tumbling
from muntin.catalog.named_windows import from_dict
from muntin.errors import ParameterError, PolicyError, QueryError
from muntin.progress import ProgressPolicy, SourceProgress
from muntin.windows.specification import Unwindowed
from muntin_adapters import from_aggregator
from muntin_adapters.combinators import all_of, filtering, preset, skipping_nulls, with_default
from muntin_engine import Query
from muntin_engine.plan.explanation import text_of, topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.metrics import reported_name, shown_names
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.time.source_rules import SourceRules
from tests.engine.api.frames import Frame
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.engine.plan.queries import value_of
from tests.modules.members import Count, Echo, Members


def query(*modules: Any, inner: tuple[Any, ...] = (), **plan_parts: Any) -> Query:
    """Return a query over a stream of Spark's.

    Args:
        modules: Plans of its modules.
        inner: Queries whose results it reads.
        plan_parts: Further arguments of `plan_of`.
    """
    source = SimpleNamespace(df=Frame())
    return Query((cast(Any, source),), plan_of(*modules, **plan_parts), inner=inner)


def test_a_query_shows_its_windows_its_modules_and_its_results() -> None:
    of_hours = query(planned(Count, "n", inputs=0), planned(Members, "m"), window=hopping("1 hour", "10 minutes"))
    assert repr(of_hours) == (
        "Query over hopping('1 hour', '10 minutes') by key, emit final\n"
        "  modules: n = show.count 1.0.0, m = show.members 1.0.0\n"
        "  results: key, window, n, m"
    )


def test_an_operator_is_shown_without_a_name_and_a_query_without_keys_as_one_of_all_rows() -> None:
    of_operator = query(planned(Echo, ""), columns={"keys": ()}, window=snapshot())
    assert repr(of_operator).splitlines()[:2] == [
        "Query over snapshot() of all rows, emit final",
        "  modules: show.echo 1.0.0",
    ]


def test_a_notebook_shows_a_query_and_its_inner_query_with_a_chart_and_all_topics_each() -> None:
    inner_query = query(planned(Count, "n<b>", inputs=0))
    page = query(inner=(inner_query,))._repr_html_()
    assert page.count("<svg ") == 2
    assert page.count("<table>") == 2
    assert page.count(">lag</th>") == 2
    assert "n&lt;b&gt; = show.count" in page
    assert "n<b>" not in page


def test_a_chained_query_is_explained_after_its_inner_query_and_without_the_names_of_buckets() -> None:
    chained_query = query(inner=(query(window=tumbling("1 minute")),))
    of_two_buckets = replace(chained_query.plan.input, sources=("0", "1"), is_chained=True)
    plan = replace(chained_query.plan, inputs=(of_two_buckets,))

    inner_text, text = replace(chained_query, plan=plan).plan_text().split("\n\n")
    assert inner_text.startswith("window      tumbling('1 minute'), ")
    assert "progress    nothing but the end of a static input" in inner_text
    assert "progress    up to where the results of the query before are settled" in text


def test_show_of_a_query_over_a_stream_is_refused_with_the_call_that_writes_it() -> None:
    with pytest.raises(QueryError, match=r"(?s)this one is a stream.*query\.write\(results='results'"):
        query().show()


def names_of_six_queries() -> list[str]:
    """Return the names under which queries report metrics: three plans, each over two inputs."""
    plans = [plan_of(window=tumbling("1 minute")), plan_of(window=tumbling("1 hour")), plan_of(planned(Members, "m"))]
    names: list[str] = []
    for plan in plans:
        names.append(reported_name("muntin", plan, "input 1"))
        names.append(reported_name("muntin", plan, "input 2"))
    return names


def test_queries_report_under_names_that_differ_by_windows_modules_and_input_and_are_always_the_same() -> None:
    names = names_of_six_queries()
    assert len(set(names)) == 6
    assert names_of_six_queries() == names


def test_the_name_of_a_query_is_shown_with_as_much_as_tells_it_from_other_queries() -> None:
    names = names_of_six_queries()
    assert shown_names(names[:1]) == {names[0]: "muntin"}
    assert sorted(shown_names(names[::2]).values()) == [
        "muntin tumbling('1 hour')",
        "muntin tumbling('1 minute')",
        "muntin tumbling('10 minutes')",
    ]
    assert len(set(shown_names(names).values())) == 6


def test_two_queries_are_never_shown_under_one_name() -> None:
    assert shown_names(["x y", "x # y # 1", "x # z # 2"]) == {"x y": "x y", "x # y # 1": "x y 1", "x # z # 2": "x z"}


def test_results_of_a_query_without_windows_have_lifetimes_in_place_of_windows() -> None:
    plan = value_of("query(Steps, window=Unwindowed())")
    assert plan.engine_columns == ("lifetime",)
    assert plan.lifetime_column == "lifetime"


def test_a_query_without_windows_is_shown_and_explained_as_one() -> None:
    plan = value_of("query(Steps, window=Unwindowed())")
    topics = dict(topics_of(plan))
    assert topics["window"] == "none, each event by itself, emit final"
    assert "context" not in topics
    assert text_of(plan).splitlines()[0] == "Query without windows, by key, emit final"
    assert spell_grouping(plan) == "test.steps by key"


def test_the_absence_of_windows_comes_back_from_data() -> None:
    assert from_dict(Unwindowed().to_dict()) == Unwindowed()


def test_only_queries_without_windows_are_evaluated_event_by_event() -> None:
    assert value_of("query(Steps, window=Unwindowed())").choice.evaluator == "event_by_event"
    with pytest.raises(QueryError, match="event_by_event evaluator cannot run this query: it is for queries without w"):
        value_of("query(requested_evaluator='event_by_event')")


# A progress policy that would fail in the workers is refused where the query is planned.


@dataclass(frozen=True)
class Following(ProgressPolicy):
    """A policy as it has to be: the watermark follows the newest start."""

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest

    def describe(self, spell: Callable[[int], str]) -> str:
        return "the newest start"


class Unlike(Following):
    """A policy that is not equal to another one of its delay."""

    def __init__(self, delay: int) -> None:
        object.__setattr__(self, "delay", delay)


class Greedy(Following):
    """A policy that fails if there is one row only."""

    starts_kept = 2

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.latest[1]


class Fraction(Following):
    """A policy whose watermark is no tick."""

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest / 2


class Many(Following):
    """A policy that keeps more starts than it may."""

    starts_kept = 100_000


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Unlike(3), r"policy Unlike is not a value: .*\n  make it a frozen dataclass"),
        (Greedy(), r"policy Greedy failed in watermark: IndexError.*\n.*rows=1.*\n  test it with .*ProgressPolicyLaws"),
        (Fraction(), r"policy Fraction returned 0.0 from watermark"),
        (Many(), r"policy Many keeps 100000 starts\n  expected: a whole number from 0 to 10001"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_policy_that_would_fail_is_refused_for_an_input_and_for_a_source(
    policy: ProgressPolicy, message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        plan_of(input=input_of(policy))
    with pytest.raises(PolicyError, match=message):
        plan_of(input=input_of(rules=(SourceRules("north", policy),)))


# Modules that adapters and combinators made are planned as any other: by their capabilities, types and parameters.


class Scaled:
    """A sum of scaled values, as an aggregator of Spark is written."""

    zero = 0

    def __init__(self, factor: int = 1) -> None:
        self.factor = factor

    def reduce(self, buffer: int, value: int) -> int:
        return buffer + value * self.factor

    def merge(self, buffer: int, other: int) -> int:
        return buffer + other

    def finish(self, buffer: int) -> int:
        return buffer


SCALED = from_aggregator(Scaled, name="spark.scaled", version="1.0.0")


def is_even(value: int) -> bool:
    return value % 2 == 0


@pytest.mark.parametrize(
    ("cls", "evaluator"),
    [
        (SCALED, "sliced"),
        (filtering(SCALED, is_even), "sliced"),
        (filtering("stats.average", is_even), "sliced"),
        (preset("stats.average"), "columnar"),
        (skipping_nulls("stats.average"), "columnar"),
        (all_of(mean="stats.average", deviation="stats.variance"), "columnar"),
        (with_default(skipping_nulls("stats.average"), 0.0), "columnar"),
        (all_of(mean="stats.average", twice=preset(filtering("stats.average", is_even))), "sliced"),
    ],
)
def test_the_evaluator_is_chosen_by_the_capabilities_of_an_adapted_or_combined_module(cls: Any, evaluator: str) -> None:
    assert plan_of(planned(cls)).choice.evaluator == evaluator


def test_modules_with_other_conditions_or_parameters_have_other_identities() -> None:
    plans = [
        plan_of(planned(SCALED)),
        plan_of(planned(SCALED, factor=2)),
        plan_of(planned(filtering(SCALED, is_even))),
        plan_of(planned(filtering(SCALED, bool))),
        plan_of(planned(preset(SCALED, factor=2))),
    ]
    identities = [str(plan_identity(plan)) for plan in plans]
    assert len(set(identities)) == len(identities)


def test_a_wrong_parameter_of_a_combined_module_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ParameterError, match=r"spark\.scaled_filtered\(factor: int = 1\) does not accept"):
        planned(filtering(SCALED, is_even), scale=2)
