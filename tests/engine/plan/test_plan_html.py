"""A query as a notebook shows it: the way of rows through it as boxes, and its explanation."""

from __future__ import annotations

from muntin import EmitPolicy
from muntin.drawings import Bar, Drawing
from muntin.pictures import Picture
from muntin.progress import bounded_delay
from muntin_engine.plan import NamedColumn
from muntin_engine.plan.plan_html import chart_of, html_of
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.modules.members import Count, Members


def test_a_chart_has_the_input_the_windows_the_modules_and_the_results() -> None:
    plan = plan_of(planned(Count, "n"), planned(Members, "m"), input=input_of(bounded_delay("5 minutes")))
    assert chart_of(plan).description == (
        "input: by key, at at, progress: 5 minutes behind the newest start; "
        "windows: tumbling('10 minutes'); "
        "modules: n = show.count 1.0.0, m = show.members 1.0.0; "
        "results: key, window, n, m"
    )


def test_a_chart_says_how_results_are_emitted_and_which_rows_are_read() -> None:
    columns = {"end": NamedColumn("until", "timestamp"), "conditions": (NamedColumn("km > 2", "boolean"),)}
    chart = chart_of(plan_of(columns=columns, emit=EmitPolicy.SPECULATIVE))
    assert "at at to until, where km > 2" in chart.description
    assert "emit speculative" in chart.description


def html_with_special_characters() -> str:
    picture = Picture(Drawing([Bar("<row>", 1, 2)], "<title>"))
    plan = plan_of(planned(Count, "<n>"), columns={"keys": (NamedColumn("a & b", "string"),)})
    return html_of(plan, memory="<much>", picture=picture)


def test_a_picture_stands_between_the_chart_and_the_memory() -> None:
    html = html_with_special_characters()
    assert html.count("<svg ") == 2
    assert html.index("results") < html.index("&lt;row&gt;") < html.index("&lt;much&gt;")


def test_all_texts_of_a_page_are_escaped() -> None:
    html = html_with_special_characters()
    assert "a &amp; b" in html
    for text in ("<row>", "<n>", "<much>", "a & b"):
        assert text not in html
