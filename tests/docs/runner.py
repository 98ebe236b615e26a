"""Running a page: its Python blocks in order, in one namespace, as a reader who types them in would.

- A block prints what the block below it says, if a comment `<!-- prints -->` stands above that one. A block that prints
  something which the page does not show fails.
- ```` ```python file=tides/range.py ```` is not run but becomes a file of a project; a file `pyproject.toml` makes the
  project an installed distribution, entry points and all, and a file `test_....py` is run with pytest where it stands.
- ```` ```python no-run <why> ```` is only compiled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import invalidate_caches
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from muntin.catalog import installed
from tests.docs.pages import Block, blocks, name_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Printed:
    """What a Python block printed, and the block below it that says so, if there is one."""

    block: Block
    text: str
    shown: Block | None


def needs_spark(page: Path) -> bool:
    asks = re.compile(r"\b(local_|prepare_|spark_)?session\(")
    return any(asks.search(block.text) for block in blocks(page) if block.language == "python" and block.file is None)


@dataclass(frozen=True, slots=True)
class RunningPage:
    """A page whose blocks run in one namespace.

    Attributes:
        page: The page.
        namespace: What its blocks have defined so far.
    """

    page: Path
    namespace: dict[str, Any]
    _project: _Project

    def run(self) -> Iterator[Printed]:
        """Run the blocks in order and yield what each printed."""
        parts = blocks(self.page)
        for place, block in enumerate(parts):
            if block.file is not None:
                self._project.write(block)
            elif block.language == "python":
                code = compile("\n" * (block.line - 1) + block.text, str(self.page), "exec", dont_inherit=True)
                text = "" if block.is_not_run else _run(code, self.namespace)
                below = parts[place + 1] if place + 1 < len(parts) else None
                yield Printed(block, text, below if below is not None and below.is_output else None)


@contextmanager
def open_page(page: Path, folder: Path, spark: SparkSession | None) -> Iterator[RunningPage]:
    """Prepare to run a page.

    Args:
        page: The page.
        folder: An empty folder: the project that the page's files make up, and the working directory.
        spark: The session, for a page that needs it.
    """
    with _namespace(page, spark) as namespace, _project(folder, spark) as project:
        yield RunningPage(page, namespace, project)


def tidy(text: str) -> str:
    """Return text without spaces at the ends of lines and without empty lines at its end."""
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def _run(code: Any, namespace: dict[str, Any]) -> str:
    output = StringIO()
    with redirect_stdout(output):
        exec(code, namespace)
    return output.getvalue()


@contextmanager
def _namespace(page: Path, spark: SparkSession | None) -> Iterator[dict[str, Any]]:
    """Stand in for the reader's program: its classes find their annotations, and travel to workers by value."""
    module = ModuleType("page_" + name_of(page).removesuffix(".md").replace("/", "_").replace("-", "_"))
    sys.modules[module.__name__] = module
    if spark is not None:
        from pyspark.cloudpickle import register_pickle_by_value

        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield vars(module)
    finally:
        del sys.modules[module.__name__]


class _Project:
    """The files that a page shows, importable like an installed package."""

    def __init__(self, folder: Path, spark: SparkSession | None) -> None:
        self._folder = folder
        self._sources = folder / "src"
        self._spark = spark

    def write(self, block: Block) -> None:
        assert block.file is not None
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if path.name == "pyproject.toml":
            self._install(tomllib.loads(block.text))
        if path.name.startswith("test_"):
            self._test(path)
        invalidate_caches()

    def _install(self, configuration: dict[str, Any]) -> None:
        """Do what pip would do: write the distribution's metadata; and bring the package to the workers."""
        project = configuration["project"]
        info = self._sources / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(parents=True)
        groups = project.get("entry-points", {}).items()
        entries = "".join(_ini_section(name, points) for name, points in groups)
        (info / "entry_points.txt").write_text(entries, encoding="utf-8")
        (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
        installed.cache_clear()
        if self._spark is not None:
            name = self._folder / f"{project['name']}-{self._folder.name}"  # Spark wants each file name once
            self._spark.sparkContext.addPyFile(shutil.make_archive(str(name), "zip", self._sources))

    def _test(self, path: Path) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(self._sources)}
        done = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{path.name} does not pass\n{done.stdout}{done.stderr}"


def _ini_section(name: str, values: dict[str, str]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())


@contextmanager
def _project(folder: Path, spark: SparkSession | None) -> Iterator[_Project]:
    before, path, known = Path.cwd(), list(sys.path), set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    installed.cache_clear()
    try:
        yield _Project(folder, spark)
    finally:
        sys.path[:] = path  # Spark has put its copy of the package there as well
        os.chdir(before)
        installed.cache_clear()
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
