"""`muntin modules`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from muntin.catalog import installed
from muntin_cli.commands.reporting import AsJson, IsWide, reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.listing import Listing
from muntin_cli.output import indented, show, show_json, show_table
from muntin_cli.survey import survey
from muntin_cli.waiting_line import WaitingLine

EXAMPLE: Final = """\b
Examples:
  muntin modules
  muntin modules --wide | grep operator

It prints a line for each module, function, trigger and kind of windows, and then the plugins that could not be loaded.
"""
"""The end of the help."""


@reports_errors
def modules(is_wide: IsWide = False, as_json: AsJson = False) -> ExitCode:
    """List what is installed, and what could not be loaded.

    These are modules, functions and triggers, where they come from, and plugins with the reason. Each plugin is loaded
    in a process of its own, with a time limit.
    """
    with WaitingLine("loading plugins"):
        listing = survey(installed())
    if as_json:
        show_json(asdict(listing))
    else:
        _show(listing, is_wide=is_wide)
    return ExitCode.FINDINGS if listing.failures else ExitCode.OK


def _show(listing: Listing, *, is_wide: bool) -> None:
    """Print the offers, then the plugins that could not be loaded; a wide table names the package of each offer."""
    if listing.offers and is_wide:
        wide_rows: list[tuple[str, ...]] = []
        for offer in listing.offers:
            wide_rows.append((offer.name, offer.version, offer.shape, offer.reads, offer.returns, offer.distribution))
        show_table(("name", "version", "shape", "reads", "returns", "from"), wide_rows, is_wide=True)
    elif listing.offers:
        rows = [(offer.name, offer.shape, offer.reads, offer.returns) for offer in listing.offers]
        show_table(("name", "shape", "reads", "returns"), rows)
        show()
        show_table((), list(listing.plugins.items()))
    elif not listing.failures:
        show("no plugin is installed\n  pip install muntin-stats, or start one: muntin new <name>")
    if listing.failures:
        show(f"\n{len(listing.failures)} could not be loaded")
    for failure in listing.failures:
        show(indented(failure.message))
