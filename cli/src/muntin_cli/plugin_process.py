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
    # Copies, to compare with and to restore from.
    modules_before = dict(sys.modules)
    builtins_before = dict(vars(builtins))
    reason = ""
    try:
        listing = list_modules(Catalog(catalog.entries, {plugin}))
    except BaseException as error:  # an interrupt, too, is the plugin's: this process is its own
        reason = safe_message(error)

    # Both are put back before anything else runs: this program needs them, too.
    changed_names = {
        "sys.modules": _restore(sys.modules, modules_before),
        "builtins": _restore(vars(builtins), builtins_before),
    }
    for namespace, names in changed_names.items():
        if names:
            named = ", ".join(names[:3])
            if len(names) > 3:
                named += f" and {len(names) - 3} more"
            reason = f"it removes or replaces what others use of {namespace}: {named}"
    if not reason:
        return listing
    entry = next(entry for entry in catalog.entries if entry.name == plugin)
    load_error = PluginLoadError(plugin, spell_distribution(entry.dist), reason)
    return Listing({}, (), (failure_of(load_error),))


def _restore(namespace: dict[str, Any], original: dict[str, Any]) -> list[str]:
    """Put back all names that a namespace had originally, and return those that were removed or replaced."""
    changed_names: list[str] = []
    for name, value in original.items():
        if name not in namespace or namespace[name] is not value:
            changed_names.append(name)
    namespace.update(original)
    return changed_names


if __name__ == "__main__":
    answer = json.dumps(asdict(offers_of(sys.argv[1])))
    Path(sys.argv[2]).write_text(answer, encoding="utf-8")
    os._exit(0)  # threads and exit handlers of the plugin must not delay the end
