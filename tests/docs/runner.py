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
    """Return whether a block that runs asks for a session."""
    session = re.compile(r"\b(local_|prepare_|spark_)?session\(")
    run_blocks = [block for block in blocks(page) if block.language == "python" and block.file is None]
    return any(session.search(block.text) for block in run_blocks)


@dataclass(frozen=True, slots=True)
class RunningPage:
    """A page whose blocks run in one namespace.

    Attributes:
        page: The page.
        namespace: Names that its blocks have defined so far.
    """

    page: Path
    namespace: dict[str, Any]
    _project: _Project

    def run(self) -> Iterator[Printed]:
        """Run the blocks in order and yield what each printed."""
        page_blocks = blocks(self.page)
        next_blocks = [*page_blocks[1:], None]
        for block, next_block in zip(page_blocks, next_blocks, strict=True):
            if block.file is not None:
                self._project.write(block)
            elif block.language == "python":
                shown = next_block if next_block is not None and next_block.is_output else None
                yield Printed(block, self._run_block(block), shown)

    def _run_block(self, block: Block) -> str:
        """Compile a block, run it unless it says not to, and return what it prints."""
        lines_above = "\n" * (block.line - 1)  # so that a traceback has the lines of the page
        code = compile(lines_above + block.text, str(self.page), "exec", dont_inherit=True)
        output = StringIO()
        if not block.is_not_run:
            with redirect_stdout(output):
                exec(code, self.namespace)
        return output.getvalue()


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
        """Write the file that a block shows; install the project or run its tests if that file asks for it."""
        assert block.file is not None
        path = self._folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if path.name == "pyproject.toml":
            self._install(tomllib.loads(block.text)["project"])
        if path.name.startswith("test_"):
            self._test(path)
        invalidate_caches()

    def _install(self, project: dict[str, Any]) -> None:
        """Write the metadata of the distribution, as pip would, and bring the package to the workers."""
        info = self._sources / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(parents=True)
        entry_points = ""
        for group, entries in project.get("entry-points", {}).items():
            lines = [f"{name} = {target}\n" for name, target in entries.items()]
            entry_points += f"[{group}]\n{''.join(lines)}"
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
        installed.cache_clear()
        if self._spark is not None:
            name = self._folder / f"{project['name']}-{self._folder.name}"  # Spark wants each file name once
            self._spark.sparkContext.addPyFile(shutil.make_archive(str(name), "zip", self._sources))

    def _test(self, path: Path) -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(self._sources)}
        pytest = subprocess.run(command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False)
        assert pytest.returncode == 0, f"{path.name} does not pass\n{pytest.stdout}{pytest.stderr}"


@contextmanager
def _project(folder: Path, spark: SparkSession | None) -> Iterator[_Project]:
    """Work in a folder whose packages can be imported, and forget them afterwards."""
    working_directory = Path.cwd()
    search_path = list(sys.path)
    modules_before = set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    installed.cache_clear()
    try:
        yield _Project(folder, spark)
    finally:
        sys.path[:] = search_path  # Spark has put its copy of the package there as well
        os.chdir(working_directory)
        installed.cache_clear()
        for name in set(sys.modules) - modules_before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(folder)):
                del sys.modules[name]
