"""`muntin modules`."""

from __future__ import annotations

from dataclasses import asdict

from muntin.catalog import installed
from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.listing import Listing
from muntin_cli.output import indented, show, show_json, show_table
from muntin_cli.survey import survey


@reports_errors
def modules(as_json: AsJson = False) -> ExitCode:
    """List what is installed, and what could not be loaded.

    These are modules, functions and triggers, where they come from, and plugins with the reason. Each plugin is loaded
    in a process of its own, with a time limit.
    """
    listing = survey(installed())
    if as_json:
        show_json(asdict(listing))
    else:
        _show(listing)
    return ExitCode.FINDINGS if listing.failures else ExitCode.OK


def _show(listing: Listing) -> None:
    rows = [(o.name, o.version, o.shape, o.reads, o.returns, o.distribution) for o in listing.offers]
    if rows:
        show_table(("name", "version", "shape", "reads", "returns", "from"), rows)
    elif not listing.failures:
        show("no plugin is installed\n  pip install muntin-stats, or start one: muntin new <name>")
    if listing.failures:
        show(f"\n{len(listing.failures)} could not be loaded")
    for failure in listing.failures:
        show(indented(failure.message))
