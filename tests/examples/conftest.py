"""The plugin of `examples/retail`, installed while a test runs and nowhere else."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.catalog import installed
from tests.conftest import ROOT

RETAIL = ROOT / "examples/retail"


@pytest.fixture(scope="session")
def retail_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package lies as pip leaves it."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(RETAIL / "src/muntin_retail", site / "muntin_retail", ignore=shutil.ignore_patterns("__pycache__"))
    project = tomllib.loads((RETAIL / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((plugin, module),) = project["entry-points"]["muntin"].items()
    info = f"muntin_retail-{project['version']}.dist-info"
    (site / info).mkdir()
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        "entry_points.txt": f"[muntin]\n{plugin} = {module}\n",
        "RECORD": "",
    }
    for name, text in texts.items():
        (site / info / name).write_text(text, encoding="utf-8")
    files = sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    (site / info / "RECORD").write_text("".join(f"{file},,\n" for file in files), encoding="utf-8")
    return site


@pytest.fixture
def retail(monkeypatch: pytest.MonkeyPatch, retail_site: Path) -> Iterator[None]:
    monkeypatch.syspath_prepend(retail_site)
    installed.cache_clear()
    yield
    installed.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "muntin_retail"]:
        del sys.modules[name]
