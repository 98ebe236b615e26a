"""Import a module and say what that took: modules, and milliseconds."""

import json
import sys
import time
from importlib import import_module


def cost_of(name: str) -> dict[str, object]:
    """Return the modules that an import brings besides muntin, and how long it took."""
    import_module("muntin")  # what every plugin imports is not the plugin's cost
    known, start = set(sys.modules), time.perf_counter()
    import_module(name)
    took = time.perf_counter() - start
    return {"modules": sorted(set(sys.modules) - known), "milliseconds": round(took * 1000)}


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(cost_of(json.load(sys.stdin)))}\n")
