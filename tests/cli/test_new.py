"""`muntin new`: a package that works at once.

That the tests of a new package of modules pass, without a warning, is held by `tests/docs/tutorial`, whose reader runs
them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import muntin
from muntin import ColumnarAggregate, IntervalOperator, Module, RowOperator, StreamOperator
from muntin.catalog import hooks
from tests.cli.running import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What mypy knows of other packages is kept from test to test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.mktemp("mypy")))
        yield


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new package, outside the repository."""
    from muntin_cli.new import create_package

    return create_package("weather", tmp_path_factory.mktemp("outside"))


@pytest.fixture
def weather_offers(weather: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[type[Module]]]:
    from importlib import import_module

    monkeypatch.syspath_prepend(weather / "src")
    yield import_module("muntin_weather.plugin").muntin_modules()
    for name in [name for name in sys.modules if name.partition(".")[0] == "muntin_weather"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new package with a kind of windows, outside the repository."""
    from muntin_cli.new import create_package

    return create_package("shop", tmp_path_factory.mktemp("windows"), is_window=True)


def run(weather: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MYPYPATH": str(ROOT / "sdk/src")}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=weather,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_says_what_to_do_next(tmp_path: Path, muntin: Run) -> None:
    done = muntin("new", "weather", "--into", tmp_path)
    assert done.code == 0
    assert f"  cd {tmp_path / 'muntin-weather'}\n" in done.output
    assert "  muntin check muntin-weather\n" in done.output
    assert (
        "shop.visits is there to be replaced by yours" in muntin("new", "shop", "--window", "--into", tmp_path).output
    )


def test_every_file_has_the_name_of_the_plugin(weather: Path) -> None:
    files = [file for file in weather.rglob("*") if file.is_file()]
    assert {"plugin.py", "test_mean.py", "pyproject.toml", ".gitignore", "py.typed", "LICENSE"} <= {
        file.name for file in files
    }
    assert (weather / ".github/workflows/test.yml").is_file()
    assert [file for file in files if "myplugin" in f"{file}{file.read_text(encoding='utf-8')}"] == []


def test_every_module_has_a_test(weather: Path) -> None:
    examples = {file.stem for file in (weather / "src/muntin_weather").glob("*.py")} - {"__init__"}
    tested = {file.stem.removeprefix("test_") for file in (weather / "tests").glob("test_*.py")}
    assert tested - {"query"} == examples


def test_there_is_an_example_of_each_of_the_eight_shapes(weather_offers: list[type[Module]]) -> None:
    bases_without_example = (
        Module,
        ColumnarAggregate,
        RowOperator,
        StreamOperator,
        IntervalOperator,
    )  # not for all windows
    bases = {
        cls
        for cls in vars(muntin).values()
        if isinstance(cls, type) and issubclass(cls, Module) and cls not in bases_without_example
    }
    shown = {(base, offered.is_time_sensitive) for offered in weather_offers for base in offered.__bases__}
    assert len(shown) == 8
    assert shown == set(product(bases, (False, True)))


def test_a_module_runs_in_a_query_without_spark(weather: Path) -> None:
    done = run(weather, "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "tests/test_query.py")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_its_workflow_compares_versions(
    weather: Path, tmp_path: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = (weather / ".github/workflows/backtest.yml").read_text(encoding="utf-8")
    _, *arguments = shlex.split(workflow.partition("run: >-")[2])
    monkeypatch.chdir(weather)
    package = weather / "src/muntin_weather"
    # Nothing is released here, so the old versions are those of files.
    same = muntin(*arguments, "--module", package / "spread.py", "--module", package / "mean.py")
    assert same.code == 0, same.errors
    released = (package / "spread.py").read_text(encoding="utf-8").replace("return max(", "return 1 + max(")
    (tmp_path / "spread.py").write_text(released, encoding="utf-8")
    changed = muntin(*arguments, "--module", tmp_path / "spread.py", "--module", package / "mean.py")
    assert changed.code == 1, changed.errors
    assert "4 results differ, over 8 rows" in changed.output


@pytest.mark.nightly
def test_its_types_hold(weather: Path) -> None:
    done = run(weather, "mypy")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_its_layout_is_clean(arguments: tuple[str, ...], weather: Path) -> None:
    done = run(weather, "ruff", *arguments, "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_can_be_published(weather: Path) -> None:
    project = tomllib.loads((weather / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = tomllib.loads((ROOT / "plugins/muntin-stats/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "muntin-weather"
    assert {"version", "description", "readme", "license", "authors", "classifiers", "requires-python"} <= set(project)
    assert project["entry-points"] == {hooks.PROJECT: {"weather": "muntin_weather.plugin"}}
    assert project["dependencies"][0] in ours["dependencies"]
    assert (project["requires-python"], project["classifiers"]) == (ours["requires-python"], ours["classifiers"])


def test_a_name_may_have_words(tmp_path: Path, muntin: Run) -> None:
    assert muntin("new", "air_quality", "--into", tmp_path).code == 0
    package = tmp_path / "muntin-air-quality"
    assert (package / "src/muntin_air_quality/plugin.py").is_file()
    assert '"air_quality.mean"' in (package / "src/muntin_air_quality/mean.py").read_text(encoding="utf-8")


def test_it_overwrites_nothing(tmp_path: Path, muntin: Run) -> None:
    mine = tmp_path / "muntin-weather" / "notes.txt"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")

    done = muntin("new", "weather", "--into", tmp_path)

    assert done.code == 2
    assert done.errors == (
        f"muntin: {mine.parent} exists already\n  choose another name, another folder (--into), or remove it\n"
    )
    assert [file.name for file in mine.parent.iterdir()] == ["notes.txt"]


TAKEN = "'{name}' is taken: {reason}\n  choose another name, for example {name}_modules"
REFUSED = {
    **{
        name: f"{name!r} cannot name a plugin\n  did you mean {meant!r}?\n  expected: "
        for name, meant in (
            *(("Weather", "weather"), ("muntin-weather", "weather"), ("air-quality", "air_quality"), ("2nd", "nd")),
        )
    },
    **{
        name: TAKEN.format(name=name, reason=reason)
        for name, reason in (
            ("json", "json is a module of Python's own"),
            ("pytest", "pytest is an installed package"),
            ("engine", "a package muntin_engine is installed"),
            ("stats", "a plugin named 'stats' is installed"),
            ("muntin", "it is Muntin's own name"),
        )
    },
    **dict.fromkeys(("class", "", "1", "x_", "a__b", "x" * 300), "muntin: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_no_plugin_can_have_is_refused(name: str, tmp_path: Path, muntin: Run) -> None:
    done = muntin("new", name, "--into", tmp_path)
    assert (done.code, done.output) == (2, "")
    assert REFUSED[name] in done.errors
    assert ("did you mean" in done.errors) == ("did you mean" in REFUSED[name] or name in ("x_", "a__b"))
    assert len(done.errors.splitlines()) < 5
    assert list(tmp_path.iterdir()) == []
    assert muntin("new", "testing_nothing", "--into", tmp_path).code == 0, "what only begins as a package is free"


def test_a_package_with_a_kind_of_windows_has_nothing_of_modules(shop: Path) -> None:
    files = {file.relative_to(shop).as_posix() for file in shop.rglob("*") if file.is_file()}
    assert {path for path in files if path.startswith(("src/", "tests/"))} == {
        *(f"src/muntin_shop/{name}" for name in ("__init__.py", "plugin.py", "py.typed", "visits.py")),
        *(f"tests/{name}" for name in ("test_plugin.py", "test_visits.py")),
    }
    assert not any(path.startswith(("window-kind", "backtests")) for path in files)
    assert [path for path in files if "workflows" in path] == [".github/workflows/test.yml"]
    assert "shop.visits" in (shop / "README.md").read_text(encoding="utf-8")


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
        ("mypy",),
        ("ruff", "check", "--no-cache"),
        ("ruff", "format", "--check", "--no-cache"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_package_with_a_kind_of_windows_works_at_once(command: tuple[str, ...], shop: Path) -> None:
    done = run(shop, *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, muntin: Run) -> None:
    file = tmp_path / "file"
    link = tmp_path / "muntin-waves"
    file.write_text("", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere")
    into_a_file = muntin("new", "waves", "--into", file)
    over_a_link = muntin("new", "waves", "--into", tmp_path)
    assert (into_a_file.code, over_a_link.code) == (2, 2)
    assert into_a_file.errors.startswith(f"muntin: {file / 'muntin-waves'} cannot be made: Not a directory: ")
    assert over_a_link.errors.startswith(f"muntin: {link} exists already\n")
    assert sorted(tmp_path.iterdir()) == [file, link]


TEMPLATE = ROOT / "templates/plugin"
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def template_files() -> dict[str, bytes]:
    files = [file for file in TEMPLATE.rglob("[!.]*") if file.is_file() and not CACHES & set(file.parts)]
    return {f"muntin_cli/template/{file.relative_to(TEMPLATE).as_posix()}": file.read_bytes() for file in files}


def build(project: Path, kind: str, into: Path) -> Path:
    """Build a distribution as pip would, without the isolation that needs a network."""
    code = f"import hatchling.build; print(hatchling.build.build_{kind}({str(into)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    return into / done.stdout.split()[-1]


@pytest.mark.parametrize("is_from_sdist", [False, True], ids=["from the repository", "from an sdist"])
def test_a_wheel_of_the_command_has_the_template(tmp_path: Path, is_from_sdist: bool) -> None:
    project = ROOT / "cli"
    if is_from_sdist:
        with tarfile.open(build(project, "sdist", tmp_path)) as sdist:
            safely: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # older 3.11 have no filters
            sdist.extractall(tmp_path, **safely)
        (project,) = (path for path in tmp_path.iterdir() if path.is_dir())
    with zipfile.ZipFile(build(project, "wheel", tmp_path)) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("muntin_cli/template/")}

    assert len(packed) > 20
    assert packed == template_files()
