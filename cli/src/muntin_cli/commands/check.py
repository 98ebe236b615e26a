"""`muntin check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muntin.catalog import installed
from muntin.catalog.plugin_entries import plugin_entries
from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, indented, show, show_json
from muntin_cli.parameters import parse_parameters

if TYPE_CHECKING:
    from muntin_cli.checking import Report


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

    One report tells of its discovery, import cost, types, laws, pickling, and of a worker.
    """
    from muntin_cli.checking import check as check_package
    from muntin_cli.checking import find_package

    given = parse_given(parameters or [])
    report = check_package(find_package(package, plugin_entries().entries), installed(), given)
    if as_json:
        show_json({**asdict(report), "findings": report.findings})
    else:
        show_report(report)
    return ExitCode.FINDINGS if report.findings else ExitCode.OK


def parse_given(texts: list[str]) -> dict[str, dict[str, object]]:
    """Return parameters by the name of the module that they are for."""
    given: dict[str, dict[str, Any]] = {}
    for text in texts:
        module, colon, parameter = text.partition(":")
        if not colon:
            raise UsageError(f"{text!r} names no module\n  expected: <module>:<name>=<value>, as stats.quantile:q=0.9")
        given.setdefault(module, {}).update(parse_parameters([parameter]))
    return given


def show_report(report: Report) -> None:
    """Print a report."""
    show(report.package)
    for section in report.sections:
        show(f"\n{section.title}")
        for item in section.items:
            first, _, rest = item.text.partition("\n")
            show(f"  {item.result:<8}{first}")
            if rest:
                show(indented(rest, by=10))
    show(f"\n{counted(report.findings, 'finding')}")
