"""`muntin check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from muntin.catalog import installed
from muntin.catalog.plugin_entries import plugin_entries
from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import coloured, counted, indented, show, show_json
from muntin_cli.parameters import parse_parameters
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin_cli.checking import Report

EXAMPLE: Final = """\b
Examples:
  muntin check .
  muntin check muntin-weather --with weather.above:level=2.5

It prints a line for each thing that was checked, and last what is left to do before a release.
"""
"""The end of the help."""


@reports_errors
def check(
    package: Annotated[
        str, typer.Argument(help="An installed package, its plugin, or the folder that holds it.")
    ] = ".",
    parameters: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="MODULE:NAME=VALUE", help="A parameter that a module is to be tried with."),
    ] = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Check a package before others get it.

    One report covers its discovery, import cost, types, laws, pickling, and unpickling on a worker, and what is left
    to do before a release.
    """
    from muntin_cli.checking import check as check_package
    from muntin_cli.checking import find_package

    parameters_by_module = parse_module_parameters(parameters or [])
    checked_package = find_package(package, plugin_entries().entries)
    with WaitingLine("") as progress:
        report = check_package(checked_package, installed(), parameters_by_module, progress)
    if as_json:
        show_json({**asdict(report), "findings": report.findings, "tasks": report.tasks})
    else:
        show_report(report)
    return ExitCode.FINDINGS if report.findings else ExitCode.OK


def parse_module_parameters(texts: list[str]) -> dict[str, dict[str, object]]:
    """Return the parameters of each module, from texts such as `stats.quantile:q=0.9`.

    Raises:
        UsageError: A text names no module, or is no parameter.
    """
    parameters_by_module: dict[str, dict[str, Any]] = {}
    for text in texts:
        module, colon, parameter = text.partition(":")
        if not colon:
            raise UsageError(f"{text!r} names no module\n  expected: <module>:<name>=<value>, as stats.quantile:q=0.9")
        parameters_by_module.setdefault(module, {}).update(parse_parameters([parameter]))
    return parameters_by_module


def show_report(report: Report) -> None:
    """Print a report."""
    show(report.package)
    for section in report.sections:
        show(f"\n{section.title}")
        for item in section.items:
            first_line, _, further_lines = item.text.partition("\n")
            space = " " * (8 - len(item.result))  # the longest result has seven letters
            show(f"  {coloured(item.result)}{space}{first_line}")
            if further_lines:
                show(indented(further_lines, by=10))
    if report.badge:
        show(f"\na badge for the README, when the repository is on GitHub\n  {report.badge}")
    show(f"\n{counted(report.findings, 'finding')}")
    if report.tasks:
        show(f"{counted(report.tasks, 'thing')} to do before a release")
