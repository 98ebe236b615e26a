"""Report what a Python environment has: its version, packages by name, and plugins."""

import json
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, version
from typing import Any


def version_of(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def plugins() -> set[str]:
    """Return the names of plugins, also where a package is malformed."""
    names: set[str] = set()
    for package in distributions():
        with suppress(Exception):
            names |= {entry.name for entry in package.entry_points if entry.group == "muntin"}
    return names


def describe_environment(packages: Iterable[str]) -> dict[str, Any]:
    """Return the packages and plugins that this Python can import."""
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "packages": {package: version_of(package) for package in packages},
        "plugins": sorted(plugins()),
    }


if __name__ == "__main__":
    sys.stdout.write(f"\nanswer: {json.dumps(describe_environment(json.load(sys.stdin)))}\n")
