"""A query as a notebook shows it: a chart of its way, a picture of its windows, and its explanation."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import EmitPolicy
from muntin.notebook import facts_html, folded_html
from muntin.pictures import Box, Chart, Picture
from muntin_engine.plan import Input, Plan
from muntin_engine.plan.explanation import (
    MEMORY,
    explain_progress,
    label_of,
    topics_of,
)
from muntin_engine.plan.plan_words import spell_emission, spell_windows


def html_of(plan: Plan, inner: Sequence[Plan] = (), memory: str = "", picture: Picture | None = None) -> str:
    """Return a query for a notebook, as HTML: a chart and a folded explanation, after those of the queries it reads.

    Args:
        plan: The query.
        inner: The queries whose results it reads, each after those that it reads itself.
        memory: The data that a run keeps in memory, in words; empty where the plan says it.
        picture: The rows of one key with their windows, if there is such a picture.
    """
    parts: list[str] = []
    for query in inner:
        parts += [chart_of(query).svg(), _explanation(query, memory="")]
    parts.append(chart_of(plan).svg())
    if picture is not None:
        parts.append(picture.svg())
    parts.append(_explanation(plan, memory))
    return f"<div>{''.join(parts)}</div>"


def _explanation(plan: Plan, memory: str) -> str:
    """Return the explanation of a query as HTML that is folded at first.

    Args:
        plan: The query.
        memory: The data that a run keeps in memory, in words; empty for no line about it.
    """
    topics = topics_of(plan)
    if memory:
        topics.append((MEMORY, memory))
    return folded_html("How it is evaluated", facts_html(topics))


def chart_of(plan: Plan) -> Chart:
    """Return the way of rows through a query: its inputs, its windows or its join, its modules and its results."""
    rows = [tuple(_input_box(plan, input) for input in plan.inputs)]
    if plan.is_windowed:
        rows.append((_window_box(plan),))
    elif plan.join is not None and not plan.passes_events:
        rows.append((Box("join", (str(plan.join.kind),), look="pane"),))
    if plan.modules:
        rows.append((Box("modules", tuple(label_of(module) for module in plan.modules)),))
    keys = [key.name for key in plan.keys]
    outputs = [field.name for field in plan.outputs]
    columns = ", ".join([*keys, *plan.engine_columns, *outputs])
    rows.append((Box("results", (columns,), look="box"),))
    return Chart("the way of rows through a query", tuple(rows))


def _input_box(plan: Plan, input: Input) -> Box:
    """Return the box of an input: its keys, its times, its filter and its progress."""
    lines: list[str] = []
    keys = ", ".join(key.name for key in input.columns.keys)
    if keys:
        lines.append(f"by {keys}")
    times = [input.columns.start.name]
    if input.columns.end is not None:
        times.append(input.columns.end.name)
    lines.append(f"at {' to '.join(times)}")
    conditions = " and ".join(condition.name for condition in input.columns.conditions)
    if conditions:
        lines.append(f"where {conditions}")
    if plan.choice.keeps_state:
        lines.append(f"progress: {explain_progress(plan, input)}")
    heading = "results of the query before" if input.is_chained else "input"
    return Box(input.name or heading, tuple(lines))


def _window_box(plan: Plan) -> Box:
    """Return the box of the windows, with the emission unless it is `final`."""
    lines = [spell_windows(plan)]
    if plan.emit is not EmitPolicy.FINAL:
        lines.append(f"emit {spell_emission(plan)}")
    return Box("windows", tuple(lines), look="pane")
