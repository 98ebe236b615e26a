"""A Python environment on disk, with plugins in it, for the tests of discovery."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from muntin.catalog import Catalog

AGGREGATE = """
class {cls}(Aggregate[float, float]):
    name, version = "{name}", "1.0.0"
    def compute_result(self, payloads):
        return 0.0
"""


@dataclass
class Installation:
    """A folder like site-packages; plugin modules in it are forgotten when a test ends.

    Attributes:
        folder: Where it is; on the import path.
        modules: The plugin modules that were written.
    """

    folder: Path
    modules: list[str] = field(default_factory=list)

    def plugin(self, name: str, *offered: str, distribution: str = "", source: str | None = None) -> None:
        """Install a plugin, in a distribution named `muntin-<name>` by default.

        It offers aggregates of these names, or whatever the source says. The Python module is named `plugin_0_<name>`
        for the first plugin, `plugin_1_<name>` for the second, and so on.
        """
        module = f"plugin_{len(self.modules)}_{name}"
        self.modules.append(module)
        if source is None:
            source = offering(*offered)
        (self.folder / f"{module}.py").write_text(source, encoding="utf-8")

        distribution = distribution or f"muntin-{name}"
        info = self.folder / f"{distribution.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 0.1.0\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[muntin]\n{name} = {module}\n", encoding="utf-8")

    def entries(self) -> list[EntryPoint]:
        """Return the entry points of everything installed."""
        entry_points: list[EntryPoint] = []
        for distribution in distributions(path=[str(self.folder)]):
            entry_points += distribution.entry_points
        return sorted(entry_points, key=lambda entry: entry.value)

    def catalog(self, *allowed: str) -> Catalog:
        """Return a catalog of the plugins that are installed, or of the allowed ones among them."""
        return Catalog(self.entries(), allowed or None)

    def imported(self) -> list[str]:
        """Return the names of the plugins that have been imported."""
        return [module.split("_", 2)[2] for module in self.modules if module in sys.modules]


def offering(*names: str) -> str:
    """Return the source of a plugin with an aggregate per name."""
    classes = {f"Offered{place}": name for place, name in enumerate(names)}
    body = "".join(AGGREGATE.format(cls=cls, name=name) for cls, name in classes.items())
    hook = f"@hookimpl\ndef muntin_modules():\n    return [{', '.join(classes)}]\n"
    return f"from muntin import Aggregate, hookimpl\n{body}\n{hook}"


def installation_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """Yield an empty installation and clean up after it."""
    monkeypatch.syspath_prepend(folder)
    installation = Installation(folder)
    yield installation
    for module in installation.modules:
        sys.modules.pop(module, None)
