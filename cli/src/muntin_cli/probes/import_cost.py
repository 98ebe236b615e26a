"""Import a module and say what that took: modules, and milliseconds."""

import json
import sys
import time
from importlib import import_module

import muntin  # noqa: F401  # what every plugin imports is not the plugin's cost

name = json.load(sys.stdin)
known, start = set(sys.modules), time.perf_counter()
import_module(name)
took = time.perf_counter() - start
print("\n" + json.dumps({"modules": sorted(set(sys.modules) - known), "milliseconds": round(took * 1000)}))  # noqa: T201
