"""`muntin check`: one report on a package."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muntin.catalog import Plugin, installed
from muntin_cli.checking import Package, Result, Section, find_package
from muntin_cli.checking.laws import check_laws
from muntin_cli.checking.release import badge_for, check_release
from muntin_cli.checking.subjects import subjects_in
from muntin_cli.checking.travelling import MOST_BYTES, check_pickling, check_worker
from muntin_cli.kinds import KINDS, OfferKind
from muntin_cli.new import create_package
from muntin_cli.offered import offered_by
from muntin_engine.backends.spark.delivery import packed_task
from tests.cli.plugins import BROKEN, LAST, TIDES
from tests.cli.running import CommandRun, Offer, Run
from tests.sdk.installation import Installation


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What mypy knows of other packages is kept from test to test, and not in the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def install(package: Path, installation: Installation) -> None:
    """Install a new package named `muntin-weather`, as pip would: its sources, metadata and entry point."""
    shutil.copytree(package / "src", installation.folder, dirs_exist_ok=True)
    info = installation.folder / "muntin_weather-0.1.0.dist-info"
    info.mkdir()
    metadata = "Metadata-Version: 2.1\nName: muntin-weather\nVersion: 0.1.0\nRequires-Dist: muntin-sdk>=0.1\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    if (package / "src/muntin_weather/plugin.py").exists():
        (info / "entry_points.txt").write_text("[muntin]\nweather = muntin_weather.plugin\n", encoding="utf-8")
    # What is imported of it is forgotten when the test ends.
    files = ["plugin", *(kind.example for kind in KINDS)]
    installation.modules += ["muntin_weather", *(f"muntin_weather.{file}" for file in files)]


def items_in(done: CommandRun, title: str) -> list[tuple[str, str]]:
    """Return the results and texts of a section of the report in JSON."""
    sections: dict[str, dict[str, Any]] = {section["title"]: section for section in done.data["sections"]}
    return [(item["result"], item["text"]) for item in sections[title]["items"]]


def texts_of(section: Section, result: Result) -> list[str]:
    """Return the texts of the items of a section that have a result."""
    return [item.text for item in section.items if item.result is result]


def test_a_new_package_has_no_findings(
    tmp_path: Path, installation: Installation, allow: Callable[..., None], muntin: Run
) -> None:
    package = create_package("weather", tmp_path, KINDS)
    install(package, installation)
    allow("weather")

    done = muntin("check", package)

    assert done.code == 0, done.output
    lines = done.output.splitlines()
    assert "  ok      weather = muntin_weather.plugin: 8 modules, 1 function, 1 window kind" in lines
    assert "  ok      mypy --strict finds nothing in muntin_weather" in lines
    assert "  ok      weather.long_events 0.1.0 with at_least=2 keeps 7 laws" in lines
    assert [line for line in lines if line.startswith(("  note", "  finding"))] == []

    title, *sections, _badge, findings, tasks = [line for line in lines if line and not line.startswith(" ")]
    assert title == "muntin-weather 0.1.0"
    assert sections == ["discovery", "import", "types", "laws", "pickling", "worker", "before a release"]
    assert (findings, tasks) == ("no findings", "4 things to do before a release")


@pytest.fixture
def without_mypy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No types are checked: the test of a new package with all kinds does it for each of them."""
    monkeypatch.setattr("muntin_cli.checking.whole.check_types", lambda package: Section("types", ()))


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_new_package_of_each_kind_has_no_findings(
    kind: OfferKind,
    tmp_path: Path,
    installation: Installation,
    allow: Callable[..., None],
    muntin: Run,
    without_mypy: None,
) -> None:
    package = create_package("weather", tmp_path, [kind])
    install(package, installation)
    allow("weather")

    done = muntin("check", package, "--json")

    assert done.code == 0, done.output
    results = set()
    for section in done.data["sections"]:
        results |= {item["result"] for item in section["items"]}
    assert results == {"ok", "to do"}
    if kind.is_named:
        assert f"weather.{kind.example}" in str(items_in(done, "laws"))
    else:
        _, discovery = items_in(done, "discovery")[0]
        assert discovery.startswith("no plugin: programs import what it offers")


TO_DO = {
    "pyproject.toml does not say what the package computes",
    "pyproject.toml names no author",
    "pyproject.toml has no address of the sources",
    "there is no tag v0.1.0",
}
"""The tasks of a new package, which are left to its author."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a new package, which lacks only what its author knows."""
    return create_package("weather", tmp_path, KINDS)


def tasks(project: Path, plugins: Sequence[Plugin] = ()) -> set[str]:
    """Return the first line of each task before version 0.1.0 of a package is released."""
    package = Package("muntin-weather", "0.1.0", (), project)
    section = check_release(package, project, plugins)
    return {text.partition("\n")[0] for text in texts_of(section, Result.TO_DO)}


def git(project: Path, *arguments: str) -> None:
    """Run Git in a project, as an author of any name."""
    author = ("-c", "user.name=an author", "-c", "user.email=author@example.org")
    subprocess.run(["git", *author, *arguments], cwd=project, capture_output=True, check=True)


def test_a_new_package_is_left_to_its_author(project: Path) -> None:
    assert tasks(project) == TO_DO


@pytest.fixture
def ready_project(project: Path) -> Path:
    """The folder of a package after its author has done all tasks, in a repository at the tag v0.1.0."""
    file = project / "pyproject.toml"
    text = file.read_text(encoding="utf-8")
    text = text.replace("what they compute, in one line", "winds").replace("The authors of muntin-weather", "Ada")
    file.write_text(f'{text}\n[project.urls]\nSource = "https://github.com/ada/weather"\n', encoding="utf-8")
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "all of it")
    git(project, "tag", "v0.1.0")
    return project


def test_a_package_that_is_ready_has_nothing_left_to_do(ready_project: Path) -> None:
    assert tasks(ready_project) == set()


def test_a_change_after_the_tag_needs_another_version(ready_project: Path) -> None:
    (ready_project / "README.md").write_text("changed", encoding="utf-8")
    git(ready_project, "commit", "--quiet", "--all", "--message", "a change")
    assert tasks(ready_project) == {"0.1.0 is tagged already, at another commit"}


MISSING_FILES = {
    "README.md": "there is no README",
    "LICENSE": "there is no LICENSE",
    "CHANGELOG.md": "there is no CHANGELOG.md",
}


@pytest.mark.parametrize(("name", "task"), MISSING_FILES.items(), ids=MISSING_FILES)
def test_a_file_that_a_release_has_is_missed(name: str, task: str, project: Path) -> None:
    (project / name).unlink()
    assert tasks(project) == TO_DO | {task}


def test_classifiers_of_pythons_are_missed(project: Path) -> None:
    file = project / "pyproject.toml"
    lines = file.read_text(encoding="utf-8").splitlines()
    without_pythons = [line for line in lines if "Programming Language :: Python :: 3." not in line]
    file.write_text("\n".join(without_pythons), encoding="utf-8")
    assert tasks(project) == TO_DO | {"no classifier says which Pythons it is tested on"}


def test_all_metadata_is_missed_where_there_is_no_pyproject(project: Path) -> None:
    (project / "pyproject.toml").unlink()
    assert "no classifier says that it has types" in tasks(project)


def test_a_version_that_the_changelog_does_not_have_is_missed(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("## 0.0.1\n", encoding="utf-8")
    assert tasks(project) == TO_DO | {"CHANGELOG.md does not have 0.1.0"}


def test_tests_that_try_the_laws_of_each_offer_are_missed(project: Path, tides: list[Plugin]) -> None:
    (plugin,) = tides
    names = ", ".join(offered_by(plugin))
    assert tasks(project, tides) == TO_DO | {f"no test tries the laws of {names}"}


def test_tests_that_try_laws_are_missed(project: Path) -> None:
    shutil.rmtree(project / "tests")
    assert tasks(project) == TO_DO | {"no test tries laws"}


def test_a_badge_shows_the_tests_of_the_repository_on_github_until_the_readme_has_it(project: Path) -> None:
    package = Package("muntin-weather", "0.1.0", (), project)
    address = "https://github.com/{}/actions/workflows/test.yml"
    unknown = address.format("OWNER/muntin-weather")
    assert badge_for(package, project) == f"[![muntin check of the newest commit]({unknown}/badge.svg)]({unknown})"

    git(project, "init", "--quiet")
    git(project, "remote", "add", "origin", "git@github.com:ada/weather.git")
    badge = badge_for(package, project)
    assert address.format("ada/weather") in badge

    (project / "README.md").write_text(badge, encoding="utf-8")
    assert not badge_for(package, project)


@pytest.mark.nightly
def test_everything_that_is_wrong_is_in_one_report(
    offer: Offer, tmp_path: Path, muntin: Run, tried_as_by_users: None
) -> None:
    source = LAST.format(log=tmp_path / "log", imported="pandas")
    offer(last=f"import pandas\n{source}")

    done = muntin("check", "muntin-last", "--json")

    assert done.code == 1
    assert done.data["package"] == "muntin-last 0.1.0"
    assert done.data["findings"] == 4
    assert items_in(done, "discovery") == [("ok", "last = plugin_0_last: 1 module")]
    _, finding_of_import = items_in(done, "import")[0]
    assert "it imports pandas" in finding_of_import
    _, finding_of_types = items_in(done, "types")[0]
    assert "incompatible with supertype" in finding_of_types
    (broken_law,) = [text for result, text in items_in(done, "laws") if result == "finding"]
    assert broken_law.startswith("last.level 1.0.0 breaks the law: order does not matter\n")
    assert "smallest stream:" in broken_law
    _, finding_of_pickling = items_in(done, "pickling")[0]
    assert "cannot be pickled" in finding_of_pickling
    assert "keep open files" in finding_of_pickling


def test_a_plugin_that_cannot_be_loaded_is_a_finding(offer: Offer, muntin: Run) -> None:
    offer(wrecked=BROKEN)
    done = muntin("check", "wrecked")
    assert done.code == 1
    assert "no_such_package" in done.output
    assert "cannot be imported in a new process" in done.output
    assert "Traceback" not in done.output


@pytest.fixture
def tides(offer: Offer) -> list[Plugin]:
    """The plugin of the tides, the only one that is installed."""
    offer(tides=TIDES)
    return installed().plugins()[0]


def test_a_module_that_is_only_on_the_path_of_this_process_cannot_be_opened_by_a_worker(
    tides: list[Plugin], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")  # the path of workers
    _, pickled = check_pickling(subjects_in(tides, {}))
    assert len(pickled) == 5

    item = check_worker(pickled).items[0]

    assert item.result is Result.FINDING
    assert "No module named 'plugin_0_tides'" in item.text
    assert "PYSPARK_PYTHON" in item.text


def test_a_worker_that_does_not_run_is_a_finding(tides: list[Plugin], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    (item,) = check_worker({"tides.range 1.0.0": b""}).items
    assert item.result is Result.FINDING
    assert "/no/such/python does not run" in item.text


@pytest.fixture
def picky(offer: Offer, allow: Callable[..., None]) -> list[Plugin]:
    """A plugin whose function refuses what its types allow."""
    source = TIDES.replace("return metres / 0.3048", "raise ValueError(f'{metres} is not for me')")
    offer(tides=source)
    return installed().plugins()[0]


def test_laws_that_cannot_be_tried_are_a_note_and_no_finding(picky: list[Plugin]) -> None:
    section = check_laws(subjects_in(picky, {}))
    assert texts_of(section, Result.FINDING) == []
    (note,) = texts_of(section, Result.NOTE)
    assert note.startswith("tides.feet 1.0.0: 3 laws not tried")
    assert "is not for me" in note


PACKAGE_TESTS = """
import pytest
from hypothesis import strategies as st
from muntin import function
from muntin.testing import FunctionLaws

@function("tides.feet", version="1.0.0")
def feet(metres: float) -> float:
    return {result}

class TestFeet(FunctionLaws):
    function = feet
    arguments = st.tuples(st.floats(1, 2))

def test_something_else():
    raise AssertionError("only laws are run")
"""
"""Tests of the package, which know arguments that the function accepts; with an expression for its result."""


@pytest.mark.nightly
def test_laws_are_tried_by_the_tests_of_the_package_where_types_do_not_say_enough(
    picky: list[Plugin], tmp_path: Path
) -> None:
    (tmp_path / "test_feet.py").write_text(PACKAGE_TESTS.format(result="metres / 0.3048"), encoding="utf-8")
    items = check_laws(subjects_in(picky, {}), tests=tmp_path).items
    items_of_feet = [(item.result, item.text) for item in items if "tides.feet" in item.text]
    expected = "tides.feet 1.0.0 keeps 4 laws, 3 of them tried by its own tests, not applicable: 1"
    assert items_of_feet == [(Result.OK, expected)]


def test_a_law_that_is_broken_in_the_tests_of_the_package_is_a_finding(picky: list[Plugin], tmp_path: Path) -> None:
    (tmp_path / "test_feet.py").write_text(PACKAGE_TESTS.format(result="'far'"), encoding="utf-8")
    (finding,) = texts_of(check_laws(subjects_in(picky, {}), tests=tmp_path), Result.FINDING)
    assert finding.startswith("tides.feet 1.0.0 breaks the law: result has declared type\n")
    assert "smallest stream:" in finding


@pytest.mark.nightly
def test_tests_of_the_package_that_cannot_be_imported_leave_the_note(picky: list[Plugin], tmp_path: Path) -> None:
    (tmp_path / "test_feet.py").write_text("raise RuntimeError('cannot be imported')", encoding="utf-8")
    (note,) = texts_of(check_laws(subjects_in(picky, {}), tests=tmp_path), Result.NOTE)
    assert note.startswith("tides.feet 1.0.0: 3 laws not tried")


def test_the_tests_are_found_in_the_folder_that_is_named_or_was_installed_to_be_edited(
    tmp_path: Path, installation: Installation
) -> None:
    package = create_package("weather", tmp_path)
    install(package, installation)
    entries = tuple(entry_points(group="muntin"))
    assert find_package(str(package), entries).tests == package / "tests"
    assert find_package("weather", entries).tests is None

    origin = {"url": package.as_uri(), "dir_info": {"editable": True}}  # as `pip install --editable` notes it
    (installation.folder / "muntin_weather-0.1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    assert find_package("weather", entries).tests == package / "tests"


def test_a_trigger_is_tried_and_pickled_as_a_module_is(tides: list[Plugin]) -> None:
    subjects = subjects_in(tides, {"tides.patience": {"members": 3}})
    label = "tides.patience 1.0.0 with members=3"
    assert f"{label} keeps 5 laws, not applicable: 1" in [item.text for item in check_laws(subjects).items]
    assert label in check_pickling(subjects)[1]


def test_a_module_is_tried_with_the_parameters_that_the_user_gives(tides: list[Plugin]) -> None:
    subjects = subjects_in(tides, {"tides.above": {"level": 3.5}})
    assert "tides.above 1.0.0 with level=3.5, way='strict'" in [subject.label for subject in subjects.made]


def test_a_module_that_refuses_its_parameters_is_not_tried_and_it_is_said_how_to_give_others(
    tides: list[Plugin],
) -> None:
    subjects = subjects_in(tides, {"tides.above": {"level": -1}})
    assert "--with tides.above:<name>=<value>" in subjects.unmade["tides.above"]
    assert any("tides.above was not tried" in item.text for item in check_laws(subjects).items)


def test_a_parameter_without_the_name_of_its_module_is_wrong_usage(tides: list[Plugin], muntin: Run) -> None:
    assert muntin("check", "tides", "--with", "level=-1").code == 2


def test_a_package_that_is_not_installed_is_refused_with_those_that_are(
    installation: Installation, muntin: Run
) -> None:
    installation.plugin("tides", source=TIDES)
    done = muntin("check", "muntin-tide")
    assert done.code == 2
    assert "no installed package named 'muntin-tide' offers a plugin" in done.errors
    assert "muntin-tides" in done.errors
    assert "pip install --editable ." in done.errors


@pytest.mark.parametrize("path", [".", "src/muntin_tides", "src/muntin_tides/__init__.py"])
def test_a_package_is_named_by_its_folder_or_by_a_folder_or_file_in_it(path: str, tmp_path: Path) -> None:
    project = tmp_path / "muntin-tides"
    package = project / "src/muntin_tides"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (project / "pyproject.toml").write_text("[project]\nname = 'muntin-tides'\n")
    distribution = SimpleNamespace(name="muntin-tides", version="1.0")
    entry = SimpleNamespace(name="tides", module="muntin_tides", dist=distribution)

    found_package = find_package(str(project / path), [cast(EntryPoint, entry)])

    assert (found_package.name, found_package.folder) == ("muntin-tides", project.resolve())


def test_a_package_in_a_folder_that_is_not_installed_is_refused_with_the_line_that_installs_it(
    tmp_path: Path, muntin: Run
) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'muntin-tides'\n")
    done = muntin("check", tmp_path)
    assert done.code == 2
    assert "no installed package named 'muntin-tides' offers a plugin" in done.errors
    assert f"pip install --editable {tmp_path}" in done.errors


def test_a_folder_without_a_package_is_refused(tmp_path: Path, muntin: Run) -> None:
    done = muntin("check", tmp_path)
    assert done.code == 2
    assert "pyproject.toml is missing" in done.errors


def test_the_most_bytes_of_a_pickled_module_are_those_of_the_engine() -> None:
    assert MOST_BYTES == packed_task.MOST_BYTES


@pytest.mark.nightly
def test_a_description_in_json_is_json_whatever_a_module_prints_as_it_is_imported(offer: Offer) -> None:
    talk = "import atexit, os\nprint('hello')\nos.write(1, b'from below')\natexit.register(print, 'bye')\n"
    offer(talker=f"{TIDES.replace('tides.', 'talker.')}\n{talk}")
    command = [sys.executable, "-m", "muntin_cli", "describe", "talker.average", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "talker.average" in str(json.loads(done.stdout))
    assert "hello\n" in done.stderr
    assert "from below" in done.stderr


@pytest.mark.nightly
def test_a_check_in_json_is_json_although_a_module_prints_while_it_is_tried(offer: Offer, muntin: Run) -> None:
    talking = TIDES.replace("        return", "        print('working')\n        return", 1)
    assert "print" in talking
    offer(tides=talking)
    done = muntin("check", "tides", "--json")
    assert done.data["sections"]
    assert "working" in done.errors
