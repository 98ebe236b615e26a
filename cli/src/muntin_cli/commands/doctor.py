"""`muntin doctor`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from muntin.catalog import installed
from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.doctor import Health, Sign, examine, examine_spark, java_home_for_spark
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_json, show_table
from muntin_cli.waiting_line import WaitingLine

EXAMPLE: Final = """\b
Examples:
  muntin doctor
  muntin doctor --spark

It prints a line for each thing that queries need: ok, a note, or trouble with a remedy.
"""
"""The end of the help."""


@reports_errors
def doctor(
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark too, and let one of its workers answer.")] = False,
    java_home: Annotated[
        bool, typer.Option("--java-home", help="Print what JAVA_HOME has to be for spark-submit, and nothing else.")
    ] = False,
    as_json: AsJson = False,
) -> ExitCode:
    """Examine whether this machine can run queries.

    It looks at Python, the packages of queries in this process, and plugins; where PySpark is installed, at what it
    needs too: a Java, and workers that see the same.
    """
    if java_home:
        show(java_home_for_spark())
        return ExitCode.OK
    with WaitingLine("examining Python, packages and plugins") as progress:
        signs = list(examine(installed()))
        if spark:
            progress.say("starting Spark, and a worker of it")
            signs.append(examine_spark())
    if as_json:
        show_json([asdict(sign) for sign in signs])
    else:
        _show(signs)
    is_ill = any(sign.health is Health.TROUBLE for sign in signs)
    return ExitCode.ENVIRONMENT if is_ill else ExitCode.OK


def _show(signs: list[Sign]) -> None:
    """Print a table of signs, and how many of them are troubles."""
    show_table((), [(sign.topic, str(sign.health), sign.text) for sign in signs])
    troubles = sum(sign.health is Health.TROUBLE for sign in signs)
    show(f"\n{counted(troubles, 'trouble')}")
