"""`muntin pack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from muntin_cli.commands.check import parse_given, show_report
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.laws import LAWS_NOT_TRIED, has_laws
from muntin_cli.output import show


@reports_errors
def pack(
    source: Annotated[Path, typer.Argument(help="A file of Python that defines modules, or a wheel.")],
    into: Annotated[Path, typer.Option(help="The catalog: the folder that the wheel is put into.")] = Path(),
    key: Annotated[
        Path | None, typer.Option(help="Sign it with this private key, as ssh-keygen -t ed25519 makes one.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="MODULE:NAME=VALUE", help="A parameter that a module is to be tried with."),
    ] = None,
) -> ExitCode:
    """Pack modules for a catalog folder, by name for others.

    They are checked as others will load them; nothing is put into the folder if something is wrong.
    """
    from muntin_cli.packing import check_wheel, put, wheel_from

    name, data = wheel_from(source)
    wheel, report = check_wheel(name, data, parse_given(parameters or []))
    if report.findings:
        show_report(report)
        return ExitCode.FINDINGS
    target = put(into, name, data, key)
    offers = "\n".join(f"  {item.text}" for item in report.sections[0].items)
    show(f"{target}\n{offers}\n  sha256 {wheel.digest}{', signed' if key else ''}")
    if not has_laws():
        show(f"  {LAWS_NOT_TRIED}")
    return ExitCode.OK
