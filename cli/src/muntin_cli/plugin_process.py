"""Import a plugin and write what it offers, or how it fails, into a file: `python plugin_process.py PLUGIN FILE`."""

import builtins
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from muntin.catalog import Catalog, installed
from muntin.catalog.plugin_entries import spell_distribution
from muntin.errors import PluginLoadError
from muntin.errors.safe_text import safe_message
from muntin_cli.listing import Listing, failure_of, list_modules


def offers_of(plugin: str) -> Listing:
    """Return a plugin's offer; fail if loading it takes builtins or modules from other code."""
    catalog = installed()
    shared = {"sys.modules": sys.modules, "builtins": vars(builtins)}
    before = {place: dict(values) for place, values in shared.items()}
    try:
        listing, reason = list_modules(Catalog(catalog.entries, {plugin})), ""
    except BaseException as error:  # an interrupt, too, is the plugin's: this process is its own
        listing, reason = Listing({}, (), ()), safe_message(error)
    for place, values in shared.items():
        taken = [name for name, value in before[place].items() if name not in values or values[name] is not value]
        values.update(before[place])
        if taken:
            others = f" and {len(taken) - 3} more" if len(taken) > 3 else ""
            reason = f"it removes or replaces what others use of {place}: {', '.join(taken[:3])}{others}"
    if not reason:
        return listing
    entry = next(entry for entry in catalog.entries if entry.name == plugin)
    return Listing({}, (), (failure_of(PluginLoadError(plugin, spell_distribution(entry.dist), reason)),))


if __name__ == "__main__":
    answer = json.dumps(asdict(offers_of(sys.argv[1])))
    Path(sys.argv[2]).write_text(answer, encoding="utf-8")
    os._exit(0)  # the plugin's threads and exit handlers have no say any more
