"""Raising the version of all distributions, and their requirements of each other.

`python -m release.versions 0.2.0` writes it. `hatch version` raises a single distribution, and no requirement of it.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from packaging.version import Version

from release.distributions import ROOT, distributions

_OURS: Final = rf"(?P<name>\b(?:{'|'.join(distributions())})(?:\[[a-z,]+\])?)"
_OWN: Final = re.compile(r'^version = "[^"]+"$', re.MULTILINE)
_CITED: Final = re.compile(r"^version: \S+$", re.MULTILINE)
_EXACT: Final = re.compile(rf"{_OURS}==[0-9][0-9a-z.]*")
_RANGE: Final = re.compile(rf"{_OURS}>=[0-9.]+,<[0-9.]+")


def set_version(text: str) -> list[Path]:
    """Write a version into all files that have it, and return those that changed.

    These are the `pyproject.toml` of each distribution, the template of new plugins, the pages that show the
    requirements of a plugin, and the citation.

    Args:
        text: Version.

    Raises:
        packaging.version.InvalidVersion: The text is no version.
    """
    version = Version(text)
    our_projects = [distribution.folder / "pyproject.toml" for distribution in distributions().values()]
    plugin_files = [ROOT / "templates/plugin/pyproject.toml", *sorted((ROOT / "docs").rglob("*.md"))]
    citation = ROOT / "CITATION.cff"
    changed: list[Path] = []
    for file in (*our_projects, *plugin_files, citation):
        old = file.read_text(encoding="utf-8")
        if file == citation:
            new = _CITED.sub(f"version: {version}", old)
        else:
            new = with_version(old, version, is_ours=file in our_projects)
        if new != old:
            file.write_text(new, encoding="utf-8")
            changed.append(file)
    return changed


def with_version(text: str, version: Version, *, is_ours: bool = True) -> str:
    r"""Return the text of a file with another version.

    Args:
        text: Text of the file.
        version: New version.
        is_ours: True for a project of ours, whose own version is raised, too.

    Example:
        >>> text = 'version = "0.1.0"\n"muntin-sdk>=0.1,<0.2", "muntin-cli[check]==0.1.0"'
        >>> print(with_version(text, Version("0.2.1")))
        version = "0.2.1"
        "muntin-sdk>=0.2,<0.3", "muntin-cli[check]==0.2.1"
    """
    if is_ours:
        text = _OWN.sub(f'version = "{version}"', text)
    text = _EXACT.sub(rf"\g<name>=={version}", text)
    return _RANGE.sub(rf"\g<name>{range_of(version)}", text)


def range_of(version: Version) -> str:
    """Return the versions of the SDK that a plugin made for a version runs with: before 1.0 a minor version may break.

    Example:
        >>> range_of(Version("0.1.3")), range_of(Version("1.4"))
        ('>=0.1,<0.2', '>=1.4,<2')
    """
    end = f"{version.major}.{version.minor + 1}" if version.major == 0 else f"{version.major + 1}"
    return f">={version.major}.{version.minor},<{end}"


def main() -> None:
    """Raise the version of all distributions, and print the files that changed."""
    parser = argparse.ArgumentParser(
        prog="python -m release.versions", description="Raise the version of all packages."
    )
    parser.add_argument("version", help="the new version, such as 0.2.0")
    for file in set_version(parser.parse_args().version):
        print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
