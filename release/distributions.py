"""The distributions of this repository: folders, each with its `pyproject.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution, as its `pyproject.toml` describes it.

    Attributes:
        folder: Folder of its sources.
        project: Table `project` of its `pyproject.toml`.
    """

    folder: Path
    project: dict[str, Any]

    @property
    def name(self) -> str:
        """The name that pip installs it by."""
        return str(self.project["name"])

    @property
    def extras(self) -> dict[str, list[Requirement]]:
        """The requirements of each extra, by its name; those without an extra are under an empty name."""
        texts_by_extra = {"": self.project.get("dependencies", []), **self.project.get("optional-dependencies", {})}
        requirements: dict[str, list[Requirement]] = {}
        for extra, texts in texts_by_extra.items():
            requirements[extra] = list(map(Requirement, texts))
        return requirements


def distributions() -> dict[str, Distribution]:
    """Return the distributions of this repository by their names."""
    files = sorted([*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
    found: dict[str, Distribution] = {}
    for file in files:
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        found[project["name"]] = Distribution(file.parent, project)
    return found
