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
    """A distribution as its sources have it.

    Attributes:
        folder: Its folder.
        project: The table `project` of its `pyproject.toml`.
    """

    folder: Path
    project: dict[str, Any]

    @property
    def name(self) -> str:
        """The name that pip installs it by."""
        return str(self.project["name"])

    @property
    def extras(self) -> dict[str, list[Requirement]]:
        """What its extras require, by their names; what it requires without one is under an empty name."""
        listed = {"": self.project.get("dependencies", []), **self.project.get("optional-dependencies", {})}
        return {extra: [Requirement(text) for text in texts] for extra, texts in listed.items()}


def distributions() -> dict[str, Distribution]:
    """Return the distributions of this repository by their names."""
    files = sorted([*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])
    projects = {file.parent: tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files}
    return {project["name"]: Distribution(folder, project) for folder, project in projects.items()}
