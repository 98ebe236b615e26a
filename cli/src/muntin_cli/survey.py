"""Load each plugin in a process of its own, with a time limit: one that exits or hangs hides no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

from muntin.catalog import Catalog
from muntin.catalog.plugin_entries import spell_distribution
from muntin.errors import PluginLoadError
from muntin.errors.safe_text import cut
from muntin_cli.errors import UsageError
from muntin_cli.listing import Listing, LoadFailure, Offer, failure_of

_PROCESS: Final = Path(__file__).with_name("plugin_process.py")

PATIENCE_VARIABLE: Final = "MUNTIN_PLUGIN_SECONDS"
"""Environment variable: the seconds that a plugin may take to load where plugins are listed; 30 if it is unset."""


def survey(catalog: Catalog) -> Listing:
    """List the offers of installed plugins, and the errors of others, without importing any in this process.

    Args:
        catalog: Catalog of the installed plugins, as `installed` returns it: the processes read it anew.

    Raises:
        UsageError: `MUNTIN_PLUGIN_SECONDS` is not a positive number.
    """
    seconds = _patience()
    # Other processes run in other folders, where relative entries would mean something else.
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    distributions: dict[str, str] = {}
    for entry in catalog.entries:
        if catalog.allowed is None or entry.name in catalog.allowed:
            distributions[entry.name] = spell_distribution(entry.dist)

    def load(name: str) -> Listing:
        return _load_in_process(name, distributions[name], path, seconds)

    from concurrent.futures import ThreadPoolExecutor  # each command imports this file, and few need a survey

    # The threads only wait for processes: as many of these run at once as there are cores.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        listings = list(pool.map(load, sorted(distributions)))
    plugins: dict[str, str] = {}
    offers: list[Offer] = []
    failures = list(map(failure_of, catalog.unreadable))
    for listing in listings:
        plugins |= listing.plugins
        offers += listing.offers
        failures += listing.failures
    return Listing(plugins, tuple(sorted(offers, key=lambda offer: offer.name)), tuple(failures))


def sound(catalog: Catalog) -> tuple[Catalog, Listing]:
    """Return a catalog of the plugins that load without harm and may be imported here, and the whole survey."""
    listing = survey(catalog)
    return Catalog(catalog.entries, frozenset(listing.plugins)), listing


def _patience() -> float:
    """Return the seconds that a plugin may take to load.

    Raises:
        UsageError: `MUNTIN_PLUGIN_SECONDS` is not a positive number.
    """
    text = os.environ.get(PATIENCE_VARIABLE) or "30"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise UsageError(f"{PATIENCE_VARIABLE} is {text!r}\n  expected: seconds, for example 60")
    return seconds


@cache  # a command may ask for a survey several times
def _load_in_process(plugin: str, distribution: str, path: str, seconds: float) -> Listing:
    """Load a plugin in a process of its own and return its offers, or why it failed."""
    # A process that the plugin has started may still write into the folder when it is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        answer = Path(folder, "answer")
        output = Path(folder, "output")
        with output.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", str(_PROCESS), plugin, str(answer)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,  # a plugin that asks something must not wait for the user of the command
                stdout=log,  # a file: a pipe would stay open as long as a process that the plugin has started
                stderr=log,
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                reason = f"it takes more than {seconds:g} s; if it needs longer, set {PATIENCE_VARIABLE}"
                return _failed(plugin, distribution, reason)
            finally:
                # The process may still run, after a timeout or an interrupt of the command.
                process.kill()
                process.wait()
        try:
            if code == 0:
                return _listing(json.loads(answer.read_bytes()))
        except (OSError, ValueError):
            pass  # the process ended before it had written an answer
        lines = output.read_text("utf-8", "replace").strip().splitlines()
        last_line = cut(lines[-1], 500) if lines else "it printed nothing"
        ending = f"is ended by signal {-code}" if code < 0 else f"ends with code {code}"
        reason = f"it {ending} where it is imported, before it offers anything: {last_line}"
        return _failed(plugin, distribution, reason)


def _listing(answer: Any) -> Listing:
    """Return the listing that a process wrote as JSON."""
    return Listing(
        answer["plugins"],
        tuple(Offer(**offer) for offer in answer["offers"]),
        tuple(LoadFailure(**failure) for failure in answer["failures"]),
    )


def _failed(plugin: str, distribution: str, reason: str) -> Listing:
    """Return the listing of a plugin that could not be loaded."""
    return Listing({}, (), (failure_of(PluginLoadError(plugin, distribution, reason)),))
