"""Import a plugin and write its offers or its error into a file: `python plugin_process.py PLUGIN FILE`."""

import builtins
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from muntin.catalog import Catalog, installed
from muntin.catalog.plugin_entries import spell_distribution
from muntin.errors import PluginLoadError
from muntin.errors.safe_text import safe_message
from muntin_cli.listing import Listing, failure_of, list_modules


def offers_of(plugin: str) -> Listing:
    """Return a plugin's offers; it fails if loading it removes or replaces builtins or modules of other code."""
    catalog = installed()
    modules_before = dict(sys.modules)
    builtins_before = dict(vars(builtins))
    reason = ""
    try:
        listing = list_modules(Catalog(catalog.entries, {plugin}))
    except BaseException as error:  # an interrupt, too, is the plugin's: this process is its own
        reason = safe_message(error)

    # Both are put back before anything else runs: this program needs them, too.
    changed_modules = _restore(sys.modules, modules_before)
    changed_builtins = _restore(vars(builtins), builtins_before)
    for place, changed in (("sys.modules", changed_modules), ("builtins", changed_builtins)):
        if changed:
            names = ", ".join(changed[:3])
            if len(changed) > 3:
                names += f" and {len(changed) - 3} more"
            reason = f"it removes or replaces what others use of {place}: {names}"
    if not reason:
        return listing
    entry = next(entry for entry in catalog.entries if entry.name == plugin)
    load_error = PluginLoadError(plugin, spell_distribution(entry.dist), reason)
    return Listing({}, (), (failure_of(load_error),))


def _restore(namespace: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Put back all names that a namespace had before, and return those that were removed or replaced."""
    changed = [name for name, value in before.items() if name not in namespace or namespace[name] is not value]
    namespace.update(before)
    return changed


if __name__ == "__main__":
    answer = json.dumps(asdict(offers_of(sys.argv[1])))
    Path(sys.argv[2]).write_text(answer, encoding="utf-8")
    os._exit(0)  # threads and exit handlers of the plugin must not delay the end
