"""`muntin state`."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import typer

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_data, show_json
from muntin_cli.waiting_line import WaitingLine

_NEEDS_ENGINE = "the state of a checkpoint is read with Spark: pip install 'muntin[spark]'"

EXAMPLE: Final = """\b
Examples:
  muntin state checkpoints/hours --key station=north
  muntin state checkpoints/hours --json

It prints a line for each state: its key, its window, and what is stored.
"""
"""The end of the help."""


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

    with WaitingLine("reading the checkpoint with Spark"):
        rows = read_state(spark_session(), checkpoint)
        if key:
            rows = rows.where(_is_of(key))
        ordered = rows.orderBy("query", "key", "start", "kind", "module", "batch")
        # One row more than is shown tells whether there are more.
        state_rows = [row.asDict() for row in ordered.limit(limit + 1).collect()]
    has_more = len(state_rows) > limit
    columns = _filled_columns(rows.columns, state_rows)
    state_rows = state_rows[:limit]
    if as_json:
        show_json([_decoded(row) for row in state_rows])
        return ExitCode.OK
    cells: list[list[str]] = []
    for row in state_rows:
        cells.append([_text(row[name]) for name in columns])
    show_data(columns, cells)
    hint = f", and more: --limit {10 * limit} shows them" if has_more else ""
    show(f"\n{counted(len(state_rows), 'row')}{hint}")
    return ExitCode.OK


def _filled_columns(names: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns that have values, without the bucket, and without the query if all rows are of one query."""
    columns: list[str] = []
    for name in names:
        if name != "bucket" and any(row[name] is not None for row in rows):
            columns.append(name)
    if len({row["query"] for row in rows}) == 1:
        columns.remove("query")
    return columns


def _is_of(key: str) -> str:
    """Return the condition in SQL that the key of a row is the one that the user named.

    Args:
        key: `NAME=VALUE`, for a column of the key; or a value, which any column of the key may have.
    """
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    name, has_name, value = escaped.partition("=")
    columns = "from_json(key, 'map<string, string>')"
    if has_name:
        return f"{columns}['{name}'] = '{value}'"
    return f"array_contains(map_values({columns}), '{name}')"


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose columns of JSON are parsed."""
    decoded = dict(row)
    for name in ("key", "partition", "id", "value"):
        if decoded.get(name) is not None:
            decoded[name] = json.loads(decoded[name])
    return decoded


def _text(value: object) -> str:
    return "" if value is None else str(value)
