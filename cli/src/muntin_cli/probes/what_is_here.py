"""Say what a Python has: its version, packages by name, and plugins."""

import json
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any


def version_of(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def seen(packages: Iterable[str]) -> dict[str, Any]:
    """Return what this Python sees."""
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "packages": {package: version_of(package) for package in packages},
        "plugins": sorted({entry.name for entry in entry_points(group="muntin")}),
    }


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(seen(json.load(sys.stdin)))}\n")
