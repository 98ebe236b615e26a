"""Check that the types of a package are right, and that it ships them (`py.typed`)."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, finding, note, ok
from muntin_cli.output import counted
from muntin_cli.processes import run

_ERROR = re.compile(r"^(?P<file>.+?):(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)
_MOST_SHOWN = 20
_OPTIONS = ("--strict", "--ignore-missing-imports", "--no-color-output", "--no-error-summary")
"""The options of mypy; that a library ships no types is no fault of the package that uses it."""


def check_types(package: Package) -> Section:
    """Run mypy over a package's sources, strictly."""
    items: list[Item] = []
    for name in package.imports:
        items += _types_of(name)
    return Section("types", tuple(items))


def _types_of(name: str) -> Iterator[Item]:
    """Yield the result of a type checker on a package or module; and a finding if it ships no types to its users."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        yield finding(f"{name} has no sources\n  expected: a package with an __init__.py, or a module")
        return
    source = Path(spec.origin)
    is_package = spec.submodule_search_locations is not None
    if is_package and not (source.parent / "py.typed").is_file():
        yield finding(
            f"{name} has no file py.typed, so type checkers ignore its types\n  add an empty {name}/py.typed to it"
        )
    if find_spec("mypy") is None:
        yield note("mypy is not installed, so types are not checked\n  pip install 'muntin-cli[check]'")
        return
    yield _run_mypy(name, source.parent.parent if is_package else source.parent, is_package=is_package)


def _run_mypy(name: str, root: Path, *, is_package: bool) -> Item:
    """Run mypy over a package or module, whose sources lie below a root; return a finding with the errors, if any."""
    # In an empty folder, where no configuration of a project makes mypy less strict.
    with tempfile.TemporaryDirectory() as folder:
        options = [*_OPTIONS, "--cache-dir", str(_cache()), "-p" if is_package else "-m", name]
        command = [sys.executable, "-m", "mypy", *options]
        mypy = run(command, folder, environment=_mypy_path(root))
    if mypy.returncode == 0:
        return ok(f"mypy --strict finds nothing in {name}")
    lines: list[str] = []
    for error in _ERROR.finditer(mypy.stdout):
        lines.append(f"  {_short(error['file'], root)}:{error['line']}: {error['text']}")
    # It failed without an error in the package, such as on an option that this version of mypy does not know.
    if not lines:
        return note(f"mypy could not check {name}\n  {(mypy.stdout + mypy.stderr).strip()}")
    summary = f"mypy --strict finds {counted(len(lines), 'error')} in {name}"
    if len(lines) > _MOST_SHOWN:
        lines[_MOST_SHOWN:] = [f"  and {len(lines) - _MOST_SHOWN} more"]
    return finding("\n".join([summary, *lines]))


def _cache() -> Path:
    """Return mypy's cache folder for other packages: the first run fills it and is slow, later ones read it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muntin" / "mypy"


def _mypy_path(root: Path) -> dict[str, str]:
    """Return the variables with which mypy finds sources that are not installed but otherwise on the path."""
    is_site = str(root) in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return {} if is_site else {"MYPYPATH": str(root)}


def _short(file: str, root: Path) -> str:
    """Return the path of a file below a root; the name alone of a file elsewhere."""
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name
