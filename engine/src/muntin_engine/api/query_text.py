"""A query as one sees it where it is typed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from muntin_engine.plan import Plan
from muntin_engine.plan.explanation import topics_of


def text_of(plan: Plan) -> str:
    """Return a query in three lines: its windows and keys, its modules, and the columns of its results."""
    keys = [key.name for key in plan.keys]
    modules = [f"{module.output} = {module.label}" if module.output else module.label for module in plan.modules]
    over = f"over {plan.spelled_window}" if plan.is_windowed else "without windows,"
    grouped = f"by {', '.join(keys)}" if keys else "of all rows"
    return "\n".join(
        [
            f"Query {over} {grouped}, emit {plan.written_emit or plan.emit}",
            *(
                [f"  join: {plan.join.kind}, of {' and '.join(given.name for given in plan.inputs)}"]
                if plan.join
                else []
            ),
            *([f"  modules: {', '.join(modules)}"] if modules else []),
            f"  results: {', '.join([*keys, *plan.added, *(part.name for part in plan.outputs)])}",
        ]
    )


def html_of(plan: Plan, inner: Sequence[Plan] = ()) -> str:
    """Return the explanation of a query, and of those before it, as tables for a notebook."""
    tables = [_table(topics_of(one)) for one in (*inner, plan)]
    return f"<div><pre>{escape(text_of(plan))}</pre>{''.join(tables)}</div>"


def _table(topics: Sequence[tuple[str, str]]) -> str:
    left = 'style="text-align: left"'
    rows = "".join(f"<tr><th {left}>{escape(topic)}</th><td {left}>{escape(text)}</td></tr>" for topic, text in topics)
    return f"<table>{rows}</table>"
