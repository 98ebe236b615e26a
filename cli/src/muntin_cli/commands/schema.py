"""`muntin schema`."""

from __future__ import annotations

from typing import Final

from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import show_json

EXAMPLE: Final = """\b
Examples:
  muntin schema > query.schema.json

It prints a JSON Schema.
"""
"""The end of the help."""


@reports_errors
def schema() -> ExitCode:
    """Print the JSON Schema of queries as data, for editors."""
    if not can_evaluate():
        raise EnvironmentLacksError("queries are of muntin-engine: pip install 'muntin-cli[engine]'")
    from muntin_engine import query_schema

    show_json(query_schema())
    return ExitCode.OK
