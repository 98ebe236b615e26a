"""The plugin of `examples/retail`, installed while a test runs and nowhere else."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.catalog import installed
from tests.conftest import ROOT
from tests.installed import install

RETAIL = ROOT / "examples/retail"


@pytest.fixture(scope="session")
def retail_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package lies as pip leaves it."""
    site = tmp_path_factory.mktemp("site")
    sources = RETAIL / "src"
    files = {file.relative_to(sources).as_posix(): file.read_text("utf-8") for file in sources.rglob("*.py")}
    # `install` takes the last file for the module of the plugin
    files["muntin_retail/plugin.py"] = files.pop("muntin_retail/plugin.py")
    project = tomllib.loads((RETAIL / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["muntin"] == {"retail": "muntin_retail.plugin"}
    install(site, project["name"], files, plugin="retail", version=project["version"])
    return site


@pytest.fixture
def retail(monkeypatch: pytest.MonkeyPatch, retail_site: Path) -> Iterator[None]:
    """The plugin, installed while the test runs."""
    monkeypatch.syspath_prepend(retail_site)
    installed.cache_clear()
    yield
    installed.cache_clear()
    modules_of_plugin = [name for name in sys.modules if name.partition(".")[0] == "muntin_retail"]
    for name in modules_of_plugin:
        del sys.modules[name]
