"""`muntin new`: a package that works at once.

That the tests of a new package of modules pass, without a warning, is held by `tests/docs/tutorial`, whose reader runs
them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from typer.testing import CliRunner

import muntin
from muntin import ColumnarAggregate, IntervalOperator, Module, RowOperator, StreamOperator
from muntin.catalog import hooks
from muntin_cli import app
from muntin_cli.kinds import KINDS
from muntin_cli.new import create_package
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
    """A new package with an example of each kind, outside the repository."""
    return create_package("weather", tmp_path_factory.mktemp("outside"), KINDS)


@pytest.fixture
def weather_modules(weather: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[type[Module]]]:
    """The modules that the package offers, imported from its folder."""
    monkeypatch.syspath_prepend(weather / "src")
    yield import_module("muntin_weather.plugin").muntin_modules()
    for name in list(sys.modules):
        if name.partition(".")[0] == "muntin_weather":
            del sys.modules[name]


def run_in(package: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python in the folder of a package, as `python -m` does; it may fail.

    Its folders of bytecode do not appear in the package, and mypy finds the SDK of this repository.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "MYPYPATH": str(ROOT / "sdk/src")}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=package,
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
    assert "  muntin check .\n" in done.output


def test_it_names_the_examples_of_several_kinds(tmp_path: Path, muntin: Run) -> None:
    several = muntin("new", "shop", "--kind", "window", "--kind", "sink", "--into", tmp_path)
    assert "shop.visits, json_folder are there to be replaced by yours" in several.output


def test_no_file_has_the_name_of_the_plugin_in_the_template(weather: Path) -> None:
    files = [file for file in weather.rglob("*") if file.is_file()]
    names = {file.name for file in files}
    assert {"plugin.py", "test_mean.py", "pyproject.toml", ".gitignore", "py.typed", "LICENSE"} <= names
    assert (weather / ".github/workflows/test.yml").is_file()
    for file in files:
        assert "myplugin" not in str(file)
        assert "myplugin" not in file.read_text(encoding="utf-8"), file


def test_every_module_has_a_test(weather: Path) -> None:
    examples = {file.stem for file in (weather / "src/muntin_weather").glob("*.py")} - {"__init__"}
    tested = {file.stem.removeprefix("test_") for file in (weather / "tests").glob("test_*.py")}
    assert tested - {"query"} == examples  # and `test_query` runs one of them in a query


NOT_FOR_ALL_WINDOWS = (ColumnarAggregate, RowOperator, StreamOperator, IntervalOperator)


def test_there_is_an_example_of_each_of_the_eight_shapes(weather_modules: list[type[Module]]) -> None:
    """A shape is one of the four bases for all windows, time-sensitive or not."""
    bases = set()
    for value in vars(muntin).values():
        if isinstance(value, type) and issubclass(value, Module) and value is not Module:
            bases.add(value)
    bases -= {*NOT_FOR_ALL_WINDOWS}
    shapes = set()
    for module in weather_modules:
        shapes |= {(base, module.is_time_sensitive) for base in module.__bases__}
    assert len(shapes) == 8
    assert shapes == set(product(bases, (False, True)))


def test_a_module_runs_in_a_query_without_spark(weather: Path) -> None:
    done = run_in(weather, "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "tests/test_query.py")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_its_workflow_of_backtests_fails_where_a_module_has_changed_results(
    weather: Path, tmp_path: Path, muntin: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = (weather / ".github/workflows/backtest.yml").read_text(encoding="utf-8")
    _, *arguments = shlex.split(workflow.partition("run: >-")[2])  # of `muntin backtest`
    monkeypatch.chdir(weather)

    # The workflow compares with the released package. Nothing is released here: files have the old versions.
    package = weather / "src/muntin_weather"
    same = muntin(*arguments, "--module", package / "spread.py", "--module", package / "mean.py")
    assert same.code == 0, same.errors

    old_spread = (package / "spread.py").read_text(encoding="utf-8").replace("return max(", "return 1 + max(")
    (tmp_path / "spread.py").write_text(old_spread, encoding="utf-8")
    changed = muntin(*arguments, "--module", tmp_path / "spread.py", "--module", package / "mean.py")
    assert changed.code == 1, changed.errors
    assert "4 results differ, over 8 rows" in changed.output


@pytest.mark.nightly
def test_its_types_hold(weather: Path) -> None:
    done = run_in(weather, "mypy")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")], ids=" ".join)
def test_its_layout_is_clean(arguments: tuple[str, ...], weather: Path) -> None:
    done = run_in(weather, "ruff", *arguments, "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_metadata_is_what_a_published_plugin_has(weather: Path) -> None:
    project = project_of(weather)
    ours = project_of(ROOT / "plugins/muntin-stats")
    assert project["name"] == "muntin-weather"
    assert {"version", "description", "readme", "license", "authors", "classifiers", "requires-python"} <= set(project)
    assert project["entry-points"] == {hooks.PROJECT: {"weather": "muntin_weather.plugin"}}
    assert project["dependencies"][0] in ours["dependencies"]
    assert (project["requires-python"], project["classifiers"]) == (ours["requires-python"], ours["classifiers"])


def project_of(package: Path) -> dict[str, Any]:
    """Return the metadata of a package, from its `pyproject.toml`."""
    text = (package / "pyproject.toml").read_text(encoding="utf-8")
    metadata: dict[str, Any] = tomllib.loads(text)["project"]
    return metadata


def test_a_name_may_have_words(tmp_path: Path, muntin: Run) -> None:
    assert muntin("new", "air_quality", "--into", tmp_path).code == 0
    package = tmp_path / "muntin-air-quality"
    assert (package / "src/muntin_air_quality/plugin.py").is_file()
    assert '"air_quality.spread"' in (package / "src/muntin_air_quality/spread.py").read_text(encoding="utf-8")


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


SIMILAR_NAMES = {
    "Weather": "weather",
    "muntin-weather": "weather",
    "air-quality": "air_quality",
    "2nd": "nd",
    "x_": "x",
    "a__b": "a_b",
}


@pytest.mark.parametrize(("name", "similar"), SIMILAR_NAMES.items(), ids=SIMILAR_NAMES)
def test_a_misspelled_name_is_refused_with_a_similar_one(name: str, similar: str, tmp_path: Path, muntin: Run) -> None:
    expected = f"{name!r} cannot name a plugin\n  did you mean {similar!r}?\n  expected: "
    assert expected in refusal_of(name, tmp_path, muntin)


@pytest.mark.parametrize("name", ["class", "", "1", "x" * 300], ids=["keyword", "empty", "number", "long"])
def test_a_name_that_has_no_similar_one_is_refused_without_a_suggestion(name: str, tmp_path: Path, muntin: Run) -> None:
    refusal = refusal_of(name, tmp_path, muntin)
    assert refusal.startswith("muntin: ")
    assert "did you mean" not in refusal


TAKEN_NAMES = {
    "json": "json is a module of Python's own",
    "pytest": "pytest is an installed package",
    "engine": "a package muntin_engine is installed",
    "stats": "a plugin named 'stats' is installed",
    "muntin": "it is Muntin's own name",
}


@pytest.mark.parametrize(("name", "reason"), TAKEN_NAMES.items(), ids=TAKEN_NAMES)
def test_a_name_that_is_taken_is_refused_with_a_free_one(name: str, reason: str, tmp_path: Path, muntin: Run) -> None:
    expected = f"muntin: {name!r} is taken: {reason}\n  choose another name, for example {name}_modules\n"
    assert refusal_of(name, tmp_path, muntin) == expected


def refusal_of(name: str, folder: Path, muntin: Run) -> str:
    """Return the few lines by which a name is refused, after checking that no package was made."""
    done = muntin("new", name, "--into", folder)
    assert (done.code, done.output) == (2, "")
    assert len(done.errors.splitlines()) < 5
    assert list(folder.iterdir()) == []
    return done.errors


def test_a_name_that_only_begins_with_that_of_a_package_is_free(tmp_path: Path, muntin: Run) -> None:
    assert muntin("new", "testing_nothing", "--into", tmp_path).code == 0


FILES_OF_ALL_KINDS = {
    *(".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", ".github/versions.py"),
    *(".github/workflows/test.yml", ".github/workflows/release.yml"),
    *("src/muntin_weather/__init__.py", "src/muntin_weather/py.typed"),
}
_BACKTEST = {"backtests/readings.csv", "backtests/readings.sql", ".github/workflows/backtest.yml"}
FILES_OF_ONE_KIND = {
    "aggregate": {*_BACKTEST, "tests/test_query.py"},
    "incremental": _BACKTEST,
}
KINDS_BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.fixture
def package(name: str, tmp_path: Path) -> Path:
    """A new package with the example of one kind."""
    return create_package("weather", tmp_path, [KINDS_BY_NAME[name]])


@pytest.mark.parametrize("name", KINDS_BY_NAME)
def test_a_package_has_the_files_of_its_kind_and_no_others(name: str, package: Path) -> None:
    kind = KINDS_BY_NAME[name]
    expected = {f"src/muntin_weather/{kind.example}.py", f"tests/test_{kind.example}.py"}
    expected |= FILES_OF_ALL_KINDS
    expected |= FILES_OF_ONE_KIND.get(name, set())
    if kind.is_named:
        expected |= {"src/muntin_weather/plugin.py", "tests/test_plugin.py"}
    assert files_of(package).keys() == expected


@pytest.mark.parametrize("name", [kind.name for kind in KINDS if kind.is_named])
def test_the_readme_of_a_package_names_its_example(name: str, package: Path) -> None:
    assert f"| `weather.{KINDS_BY_NAME[name].example}` |" in files_of(package)["README.md"]


@pytest.mark.parametrize("name", KINDS_BY_NAME)
def test_no_line_of_a_package_has_the_mark_of_the_kinds_that_it_belongs_to(name: str, package: Path) -> None:
    marked = [file for file, text in files_of(package).items() if "only:" in text]
    assert marked == []


def files_of(package: Path) -> dict[str, str]:
    """Return the texts of the files of a package, by their paths in it."""
    texts: dict[str, str] = {}
    for path in package.rglob("*"):
        if path.is_file():
            texts[path.relative_to(package).as_posix()] = path.read_text(encoding="utf-8")
    return texts


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", KINDS_BY_NAME)
def test_a_package_of_each_kind_works_at_once(name: str, package: Path) -> None:
    for command in (("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache")):
        done = run_in(package, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    tests = run_in(package, "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    assert tests.returncode == 0, tests.stdout + tests.stderr


@pytest.mark.parametrize("name", ["mean", "Aggregate", ""])
def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(name: str, tmp_path: Path, muntin: Run) -> None:
    done = muntin("new", "weather", "--kind", name, "--into", tmp_path)
    assert (done.code, done.output) == (2, "")
    assert f"there is no kind {name!r}\n  expected: aggregate, incremental, operator, function, " in done.errors
    assert not any(tmp_path.iterdir())


def test_a_terminal_asks_for_kinds_until_it_understands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin_cli.commands.new._is_asked", lambda: True)
    answers = "mean\n4, sink\n"  # `mean` is no kind; the next answer has a number and a name
    done = CliRunner().invoke(app, ["new", "weather", "--into", str(tmp_path)], input=answers)
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^4 +function +one value per row", done.stdout, re.MULTILINE)
    assert "there is no kind 'mean'" in done.stderr
    assert "weather.fahrenheit, json_folder are there" in done.stdout


def test_where_nobody_can_answer_the_package_has_an_aggregate(tmp_path: Path, muntin: Run) -> None:
    assert "weather.spread is there to be replaced by yours" in muntin("new", "weather", "--into", tmp_path).output


def test_its_workflows_test_the_versions_that_its_metadata_names(weather: Path) -> None:
    command = [sys.executable, ".github/versions.py"]
    done = subprocess.run(command, cwd=weather, capture_output=True, text=True, check=True)
    outputs = dict(line.split("=", 1) for line in done.stdout.splitlines())
    project = project_of(weather)

    pythons = [f"Programming Language :: Python :: {version}" for version in json.loads(outputs["pythons"])]
    assert pythons == [classifier for classifier in project["classifiers"] if ":: 3." in classifier]
    oldest, allowed = json.loads(outputs["muntins"])
    assert f"muntin-sdk{allowed}" == project["dependencies"][0]
    assert SpecifierSet(allowed).contains(oldest.removeprefix("=="))

    test = yaml.safe_load((weather / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert set(test["jobs"]["versions"]["outputs"]) == set(outputs)
    assert set(test["jobs"]["test"]["strategy"]["matrix"]) == {"python", "muntin"}


def test_a_tag_publishes_without_a_secret(weather: Path) -> None:
    text = (weather / ".github/workflows/release.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    publish = workflow["jobs"]["publish"]
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML takes "on" for a truth value
    assert (publish["environment"], publish["permissions"]) == ("release", {"id-token": "write"})
    assert workflow["permissions"] == {"contents": "read"}
    assert not re.search("secrets|password|https?:", text)


def test_a_package_inside_a_file_is_refused(tmp_path: Path, muntin: Run) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    done = muntin("new", "waves", "--into", file)
    assert done.code == 2
    assert done.errors.startswith(f"muntin: {file / 'muntin-waves'} cannot be made: Not a directory: ")
    assert file.is_file()


def test_a_package_in_place_of_a_link_that_leads_nowhere_is_refused(tmp_path: Path, muntin: Run) -> None:
    link = tmp_path / "muntin-waves"
    link.symlink_to(tmp_path / "nowhere")
    done = muntin("new", "waves", "--into", tmp_path)
    assert done.code == 2
    assert done.errors.startswith(f"muntin: {link} exists already\n")
    assert list(tmp_path.iterdir()) == [link]


TEMPLATE = ROOT / "templates/plugin"
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def template_files() -> dict[str, bytes]:
    """Return the files of the template, by their paths in a wheel of the command."""
    contents: dict[str, bytes] = {}
    for file in TEMPLATE.rglob("[!.]*"):
        if file.is_file() and CACHES.isdisjoint(file.parts):
            contents[f"muntin_cli/template/{file.relative_to(TEMPLATE).as_posix()}"] = file.read_bytes()
    return contents


def build(project: Path, kind: str, into: Path) -> Path:
    """Build a distribution as pip would, without the isolation that needs a network.

    Args:
        project: The folder of the project.
        kind: `wheel` or `sdist`.
        into: The folder for the distribution.

    Returns:
        The distribution.
    """
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
        names = [name for name in wheel.namelist() if name.startswith("muntin_cli/template/")]
        packed_files = {name: wheel.read(name) for name in names}

    assert len(packed_files) > 20
    assert packed_files == template_files()
