"""`muntin state`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_json, show_table

_NEEDS_ENGINE = "the state of a checkpoint is read with Spark: pip install 'muntin-cli[engine]'"


@reports_errors
def state(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint of a query, which may run meanwhile.")],
    key: Annotated[str, typer.Option(help="Only this key: NAME=VALUE, or the value of any key column.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Most rows to show.")] = 100,
    as_json: AsJson = False,
) -> ExitCode:
    """Show what a checkpoint holds, per key and window."""
    if not can_evaluate():
        raise EnvironmentLacksError(_NEEDS_ENGINE)
    from muntin_engine import read_state, spark_session

    rows = read_state(spark_session(), checkpoint)
    if key:
        rows = rows.where(_is_of(key))
    ordered = rows.orderBy("query", "key", "start", "kind", "module", "batch")
    found = [row.asDict() for row in ordered.limit(limit + 1).collect()]
    if as_json:
        show_json([_decoded(row) for row in found[:limit]])
        return ExitCode.OK
    heads = [name for name in rows.columns if any(row[name] is not None for row in found) and name != "bucket"]
    if len({row["query"] for row in found}) == 1:
        heads.remove("query")
    show_table(heads, [[_text(row[name]) for name in heads] for row in found[:limit]])
    more = f", and more: --limit {10 * limit} shows them" if len(found) > limit else ""
    show(f"\n{counted(len(found[:limit]), 'row')}{more}")
    return ExitCode.OK


def _is_of(key: str) -> str:
    """Return the condition that a row is of a key, in SQL."""
    name, equals, value = (part.replace("\\", "\\\\").replace("'", "\\'") for part in key.partition("="))
    parts = "from_json(key, 'map<string, string>')"
    return f"{parts}['{name}'] = '{value}'" if equals else f"array_contains(map_values({parts}), '{name}')"


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with what is JSON in it as it means."""
    parts = ("key", "partition", "id", "value")
    return {name: json.loads(part) if name in parts and part is not None else part for name, part in row.items()}


def _text(value: object) -> str:
    return "" if value is None else str(value)
