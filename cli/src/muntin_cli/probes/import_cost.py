"""Import a module and report the cost: modules, and milliseconds."""

import json
import sys
import time
from importlib import import_module


def cost_of(name: str) -> dict[str, object]:
    """Return the modules that an import loads besides muntin, and its duration."""
    import_module("muntin")  # what every plugin imports is not the plugin's cost
    modules_before = set(sys.modules)
    start = time.perf_counter()
    import_module(name)
    seconds = time.perf_counter() - start
    return {"modules": sorted(set(sys.modules) - modules_before), "milliseconds": round(seconds * 1000)}


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(cost_of(json.load(sys.stdin)))}\n")
