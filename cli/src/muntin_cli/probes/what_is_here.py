"""Say what a Python has: its version, packages by name, and plugins."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, entry_points, version


def version_of(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


packages = json.load(sys.stdin)
answer = {
    "executable": sys.executable,
    "python": platform.python_version(),
    "packages": {package: version_of(package) for package in packages},
    "plugins": sorted({entry.name for entry in entry_points(group="muntin")}),
}
print("\n" + json.dumps(answer))  # noqa: T201
