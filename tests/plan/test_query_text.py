"""A query as one sees it where it is typed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin import hopping, snapshot, tumbling
from muntin.errors import QueryError
from muntin_engine import Query
from muntin_engine.metrics import reported_name, shown_names
from tests.plan.plans import plan_of, planned
from tests.spark.modules import Count, Echo, Members


def query(*modules: Any, inner: tuple[Any, ...] = (), **changed: Any) -> Query:
    source = SimpleNamespace(df=SimpleNamespace(isStreaming=True))
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
    page = query(inner=(plan_of(planned(Count, "n<b>", inputs=0)),))._repr_html_()
    assert page.count("<table>") == 2
    assert page.count(">lag</th>") == 2
    assert "n&lt;b&gt; = show.count" in page


def test_a_chained_query_is_explained_with_those_before_it_and_without_the_names_of_their_buckets() -> None:
    asked = query(inner=(plan_of(window=tumbling("1 minute")),))
    plan = replace(asked.plan, inputs=(replace(asked.plan.input, sources=("0", "1"), is_chained=True),))
    first, second = replace(asked, plan=plan).explain().split("\n\n")
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
