"""A query as one sees it where it is typed, and what modules and policies of one's own make of its plan."""

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


def query(*modules: Any, inner: tuple[Any, ...] = (), **changed: Any) -> Query:
    source = SimpleNamespace(df=Frame())
    return Query((cast(Any, source),), plan_of(*modules, **changed), inner=inner)


def test_a_query_shows_itself_in_three_lines() -> None:
    shown = repr(query(planned(Count, "n", inputs=0), planned(Members, "m"), window=hopping("1 hour", "10 minutes")))
    assert shown == (
        "Query over hopping('1 hour', '10 minutes') by key, emit final\n"
        "  modules: n = show.count 1.0.0, m = show.members 1.0.0\n"
        "  results: key, window, n, m"
    )


def test_an_operator_has_no_name_and_a_query_without_keys_is_of_all_rows() -> None:
    shown = repr(query(planned(Echo, ""), columns={"keys": ()}, window=snapshot()))
    assert shown.splitlines()[:2] == ["Query over snapshot() of all rows, emit final", "  modules: show.echo 1.0.0"]


def test_a_notebook_shows_every_topic_of_each_query_before_it() -> None:
    page = query(inner=(query(planned(Count, "n<b>", inputs=0)),))._repr_html_()
    assert page.count("<svg ") == 2
    assert page.count("<table>") == 2
    assert page.count(">lag</th>") == 2
    assert "n&lt;b&gt; = show.count" in page
    assert "n<b>" not in page


def test_a_chained_query_is_explained_with_those_before_it_and_without_the_names_of_their_buckets() -> None:
    asked = query(inner=(query(window=tumbling("1 minute")),))
    plan = replace(asked.plan, inputs=(replace(asked.plan.input, sources=("0", "1"), is_chained=True),))
    first, second = replace(asked, plan=plan).plan_text().split("\n\n")
    assert first.startswith("window      tumbling('1 minute'), ")
    assert "progress    nothing but the end of a static input" in first
    assert "progress    up to where the results of the query before are settled" in second


def test_a_stream_is_not_shown_but_told_what_to_write() -> None:
    with pytest.raises(QueryError, match=r"(?s)this one is a stream.*query\.write\(results='results'"):
        query().show()


def test_the_name_of_a_query_differs_by_its_window_its_modules_and_its_input() -> None:
    plans = [plan_of(window=tumbling("1 minute")), plan_of(window=tumbling("1 hour")), plan_of(planned(Members, "m"))]
    names = [reported_name("muntin", plan, source) for plan in plans for source in ("1", "2")]
    assert len(set(names)) == 6
    assert names == [reported_name("muntin", plan, source) for plan in plans for source in ("1", "2")]
    assert shown_names(names[:1]) == {names[0]: "muntin"}
    assert sorted(shown_names(names[::2]).values()) == [
        "muntin tumbling('1 hour')",
        "muntin tumbling('1 minute')",
        "muntin tumbling('10 minutes')",
    ]
    assert len(set(shown_names(names).values())) == 6


def test_a_query_without_windows_has_lifetimes_and_the_evaluator_says_how_complete_it_is() -> None:
    plan = value_of("query(Steps, window=Unwindowed())")
    assert plan.choice.evaluator == "event_by_event"
    assert (plan.engine_columns, plan.lifetime_column) == (("lifetime",), "lifetime")
    topics = dict(topics_of(plan))
    assert topics["window"] == "none, each event by itself, emit final"
    assert "context" not in topics
    assert text_of(plan).splitlines()[0] == "Query without windows, by key, emit final"
    assert spell_grouping(plan) == "test.steps by key"
    assert from_dict(Unwindowed().to_dict()) == Unwindowed()
    with pytest.raises(QueryError, match="event_by_event evaluator cannot run this query: it is for queries without w"):
        value_of("query(requested_evaluator='event_by_event')")


# A progress policy that would fail in the workers is refused where the query is planned.


@dataclass(frozen=True)
class Following(ProgressPolicy):
    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest

    def describe(self, spell: Callable[[int], str]) -> str:
        return "the newest start"


class Unlike(Following):
    def __init__(self, delay: int) -> None:
        object.__setattr__(self, "delay", delay)


class Greedy(Following):
    starts_kept = 2

    def watermark(self, seen: SourceProgress) -> Any:
        return seen.latest[1]


class Fraction(Following):
    def watermark(self, seen: SourceProgress) -> Any:
        return seen.newest / 2


class Many(Following):
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
def test_a_policy_that_cannot_work_is_refused(policy: ProgressPolicy, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        plan_of(input=input_of(policy))
    with pytest.raises(PolicyError, match=message):
        plan_of(input=input_of(rules=(SourceRules("north", policy),)))


# Modules that adapters and combinators made are planned as any other: by their capabilities, types and parameters.


class Scaled:
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
def test_the_evaluator_goes_by_the_capabilities(cls: Any, evaluator: str) -> None:
    assert plan_of(planned(cls)).choice.evaluator == evaluator


def test_a_checkpoint_tells_conditions_and_parameters_apart() -> None:
    plans = [
        plan_of(planned(SCALED)),
        plan_of(planned(SCALED, factor=2)),
        plan_of(planned(filtering(SCALED, is_even))),
        plan_of(planned(filtering(SCALED, bool))),
        plan_of(planned(preset(SCALED, factor=2))),
    ]
    identities = [str(plan_identity(plan)) for plan in plans]
    assert len(set(identities)) == len(identities)


def test_a_wrong_parameter_is_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match=r"spark\.scaled_filtered\(factor: int = 1\) does not accept"):
        planned(filtering(SCALED, is_even), scale=2)
