"""Modules of files and folders that are not installed, beside an installed package of the same name."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from muntin import Module
from muntin_cli.errors import UsageError
from muntin_cli.module_at_path import module_at

SPREAD = """
from collections.abc import Sequence
from typing import NamedTuple

from muntin import Aggregate


class Ends(NamedTuple):
    low: float
    high: float


class Spread(Aggregate[float, float]):
    name, version = "trading.spread", "{version}"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return {factor}
"""

PLUGIN = """
from muntin import hookimpl

from trading.spread import Spread


@hookimpl
def muntin_modules():
    return [Spread]
"""

OTHER = """
from muntin import Aggregate


class Other(Aggregate[float, float]):
    name, version = "trading.{name}", "1"

    def compute_result(self, payloads):
        return 0.0
"""


@pytest.fixture(autouse=True)
def the_import_path_is_left_as_it_was() -> Iterator[None]:
    """Each test leaves `sys.path` unchanged; what it imported by itself is forgotten."""
    paths = list(sys.path)
    yield
    assert sys.path == paths
    for name in ("trading", "trading.spread", "trading.factor", "spread", "factor", "new_spread"):
        sys.modules.pop(name, None)


def spread(version: str, factor: str = "1.0") -> str:
    """Return the source of the module `trading.spread`, in a version, with an expression for its result."""
    return SPREAD.format(version=version, factor=factor)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files of Python by their paths in a folder, without their ending, and return the folder."""
    for path, text in files.items():
        file = folder / f"{path}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def result_of(module: type[Module]) -> float:
    """Return the result of an aggregate for one payload."""
    result: float = module().compute_result([1.0])  # type: ignore[attr-defined]  # they are aggregates
    return result


@pytest.mark.parametrize("name", ["new_spread.py", "new_spread"])
def test_a_file_is_named_with_or_without_its_ending_and_stays_no_module_of_the_process(
    name: str, tmp_path: Path
) -> None:
    write(tmp_path, {"new_spread": spread("2")})
    module = module_at(tmp_path / name, "trading.spread")
    assert (module.name, module.version) == ("trading.spread", "2")
    assert "new_spread" not in sys.modules


def test_a_file_imports_what_lies_beside_it_and_this_stays_no_module_of_the_process_either(tmp_path: Path) -> None:
    source = spread("2", "FACTOR") + "\nfrom factor import FACTOR\n"
    write(tmp_path, {"spread": source, "factor": "FACTOR = 2.0"})
    assert result_of(module_at(tmp_path / "spread.py", "trading.spread")) == 2.0
    assert "factor" not in sys.modules


@pytest.mark.parametrize("path", ["trading", "trading/spread.py", ""], ids=["package", "file", "folder"])
def test_a_package_is_imported_beside_an_installed_one_of_its_name(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1", "2"):
        source = "from trading.factor import FACTOR\n" + spread(version, factor="FACTOR")
        files = {"__init__": "", "spread": source, "factor": f"FACTOR = {version}.0"}
        write(tmp_path / version / "trading", files)
    monkeypatch.syspath_prepend(tmp_path / "1")
    from trading.spread import Spread  # type: ignore[import-not-found]  # it is written above

    new_spread = module_at(tmp_path / "2" / path, "trading.spread")

    assert (new_spread.version, result_of(new_spread)) == ("2", 2.0)
    assert (Spread.version, result_of(Spread)) == ("1", 1.0)
    assert sys.modules["trading.spread"].Spread is Spread
    # Annotations and named tuples look their module up by its name: it is there, under another one.
    assert new_spread.compute_result.__annotations__  # type: ignore[attr-defined]
    assert sys.modules[new_spread.__module__].Ends.__module__ == new_spread.__module__


def test_modules_lie_in_packages_of_a_package_too(tmp_path: Path) -> None:
    files = {"__init__": "", "other": OTHER.format(name="other"), "inner/__init__": "", "inner/spread": spread("2")}
    package = write(tmp_path / "trading", files)
    assert module_at(package, "trading.spread").version == "2"


def test_an_installed_package_of_the_name_does_not_say_where_modules_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "1/trading", {"__init__": "", "inner/__init__": "", "inner/spread": spread("1")})
    files = {"__init__": "", "other": OTHER.format(name="other"), "inner/__init__": "", "inner/moved": spread("2")}
    package = write(tmp_path / "2/trading", files)
    monkeypatch.syspath_prepend(tmp_path / "1")
    assert module_at(package, "trading.spread").version == "2"
    assert "trading" not in sys.modules


def test_a_project_offers_what_its_plugins_return(tmp_path: Path) -> None:
    files = {"__init__": "", "spread": spread("2"), "plugin": PLUGIN, "unused": OTHER.format(name="unused")}
    write(tmp_path / "src/trading", files)
    (tmp_path / "pyproject.toml").write_text('[project.entry-points.muntin]\ntrading = "trading.plugin"\n')
    assert module_at(tmp_path, "trading.spread").version == "2"


def test_the_only_module_of_a_package_takes_the_place_of_one_of_another_name(tmp_path: Path) -> None:
    package = write(tmp_path / "trading", {"__init__": "", "spread": spread("2")})
    assert module_at(package, "trading.range").name == "trading.spread"


def test_a_module_that_a_file_only_imports_is_not_the_one_that_it_defines(tmp_path: Path) -> None:
    source = f"from muntin_stats import Average\n{OTHER.format(name='other')}"
    write(tmp_path, {"new_spread": source})
    assert module_at(tmp_path / "new_spread", "trading.spread").name == "trading.other"


def test_of_several_modules_the_one_of_the_name_is_taken_and_without_one_they_are_listed(tmp_path: Path) -> None:
    files = {"__init__": "", "spread": spread("2"), "other": OTHER.format(name="other")}
    package = write(tmp_path / "trading", files)
    assert module_at(package, "trading.spread").version == "2"
    listed = r"no module is called trading.range; it has\n    trading.other 1 \(trading.other.O"
    with pytest.raises(UsageError, match=listed):
        module_at(package, "trading.range")


def test_two_modules_of_the_name_are_listed(tmp_path: Path) -> None:
    package = write(tmp_path / "trading", {"__init__": "", "spread": spread("2"), "again": spread("3")})
    with pytest.raises(UsageError, match=r"2 modules are called trading.spread(.|\n)*\(trading.again.Spread\)"):
        module_at(package, "trading.spread")


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "missing", "there is no"),
        ({"a/b": ""}, "a", "is no package, and has none"),
        ({"a/one/__init__": "", "a/two/__init__": ""}, "a", "has several packages: one, two"),
        ({"empty": "from muntin import Aggregate"}, "empty.py", "has no module"),
        ({"broken": "1 / 0"}, "broken.py", "cannot be imported: ZeroDivisionError"),
        ({"ends": "raise SystemExit(3)"}, "ends.py", "cannot be imported: SystemExit: 3"),
    ],
)
def test_paths_without_a_module_are_refused(files: dict[str, str], path: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, files)
    with pytest.raises(UsageError, match=message):
        module_at(tmp_path / path, "trading.spread")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spread.txt").touch()
    with pytest.raises(UsageError, match="is no file of Python"):
        module_at(tmp_path / "spread.txt", "trading.spread")
