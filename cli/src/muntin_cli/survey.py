"""Load each plugin in a process of its own, with a time limit: one that exits or hangs hides no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
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
    """List the modules of installed plugins, and why others cannot be loaded, without importing any in this process.

    Args:
        catalog: What is installed, as `installed` finds it: the processes look there again.

    Raises:
        UsageError: `MUNTIN_PLUGIN_SECONDS` is not a positive number.
    """
    seconds, path = _patience(), os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    found = {e.name: spell_distribution(e.dist) for e in catalog.entries}
    names = sorted(name for name in found if catalog.allowed is None or name in catalog.allowed)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        listings = list(pool.map(lambda name: _ask(name, found[name], path, seconds), names))
    unreadable = Listing({}, (), tuple(map(failure_of, catalog.unreadable)))
    return Listing(
        {name: text for listing in listings for name, text in listing.plugins.items()},
        tuple(sorted((offer for listing in listings for offer in listing.offers), key=lambda offer: offer.name)),
        tuple(failure for listing in (unreadable, *listings) for failure in listing.failures),
    )


def sound(catalog: Catalog) -> tuple[Catalog, Listing]:
    """Return a catalog of the plugins that may be imported here, as they load without harm, and the whole survey."""
    listing = survey(catalog)
    return Catalog(catalog.entries, frozenset(listing.plugins)), listing


def _patience() -> float:
    text = os.environ.get(PATIENCE_VARIABLE) or "30"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise UsageError(f"{PATIENCE_VARIABLE} is {text!r}\n  expected: seconds, for example 60")
    return seconds


@cache
def _ask(plugin: str, distribution: str, path: str, seconds: float) -> Listing:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        answer, errors = Path(folder, "answer"), Path(folder, "errors")
        with errors.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", str(_PROCESS), plugin, str(answer)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=log,  # a file, which no process that the plugin leaves behind keeps open for a reader
                stderr=log,
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                reason = f"it takes more than {seconds:g} s; if it needs longer, set {PATIENCE_VARIABLE}"
                return _failed(plugin, distribution, reason)
            finally:
                process.kill()
                process.wait()
        try:
            if code == 0:
                return _listing(json.loads(answer.read_bytes()))
        except (OSError, ValueError):
            pass
        last = (errors.read_text("utf-8", "replace").strip().splitlines() or ["it printed nothing"])[-1]
        ended = f"is ended by signal {-code}" if code < 0 else f"ends with code {code}"
        return _failed(
            plugin, distribution, f"it {ended} where it is imported, before it offers anything: {cut(last, 500)}"
        )


def _listing(answer: Any) -> Listing:
    offers, failures = answer["offers"], answer["failures"]
    return Listing(
        answer["plugins"],
        tuple(Offer(**offer) for offer in offers),
        tuple(LoadFailure(**failure) for failure in failures),
    )


def _failed(plugin: str, distribution: str, reason: str) -> Listing:
    return Listing({}, (), (failure_of(PluginLoadError(plugin, distribution, reason)),))
