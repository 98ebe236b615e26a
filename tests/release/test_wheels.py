"""The distributions as they are published: what is in the wheels, what they say, and that they install."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from contextlib import chdir
from pathlib import Path

import pytest
from hatchling.build import build_wheel
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.version import Version
from readme_renderer.markdown import render

from release.distributions import ROOT, Distribution, distributions
from tests.docs.tutorial.environment import create_environment

OURS = distributions()
CACHES = re.compile(r"/(__pycache__|\.[a-z]+_cache)/")
WITH_CODE = [distribution for distribution in OURS.values() if (distribution.folder / "src").is_dir()]

FIELDS = (
    "summary",
    "description",
    "description_content_type",
    "license_expression",
    "license_files",
    "keywords",
    "classifiers",
    "requires_python",
    "author",
)
"""The fields of metadata that every distribution has."""

TARGET = re.compile(r'(?:href|src)="(?P<target>[^"]*)"')
"""The target of a link or an image on a page."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheels and source distributions that `make dist` makes."""
    folder = tmp_path_factory.mktemp("dist")
    for distribution in OURS.values():
        run_tool("build", "--no-isolation", "--outdir", str(folder), str(distribution.folder))
    return folder


def run_tool(module: str, *arguments: str) -> str:
    """Run a tool by the name of its module, and return what it prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wheel_of(dist: Path, distribution: Distribution) -> Path:
    """Return the wheel of a distribution."""
    version = distribution.project["version"]
    return dist / f"{distribution.name.replace('-', '_')}-{version}-py3-none-any.whl"


def metadata_in(wheel: Path) -> Metadata:
    """Return the metadata in a wheel."""
    with zipfile.ZipFile(wheel) as files:
        metadata_name = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(files.read(metadata_name))


@pytest.mark.nightly
def test_an_index_takes_every_wheel_and_source_distribution(dist: Path) -> None:
    built = sorted(map(str, dist.iterdir()))
    assert len(built) == 2 * len(OURS)
    assert run_tool("twine", "check", "--strict", *built).count("PASSED") == len(built)


def test_a_wheel_has_what_can_be_imported_and_nothing_else(dist: Path) -> None:
    wheels = sorted(map(str, dist.glob("muntin_*.whl")))  # `muntin` itself has no code
    assert len(wheels) == len(WITH_CODE)
    assert run_tool("check_wheel_contents", *wheels).count(": OK\n") == len(wheels)


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_a_wheel_has_all_metadata_and_its_licence(dist: Path, distribution: Distribution) -> None:
    wheel = wheel_of(dist, distribution)
    metadata = metadata_in(wheel)
    assert [field for field in FIELDS if not getattr(metadata, field)] == []
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    for licence in metadata.license_files or ():
        assert any(name.endswith(f"/{licence}") for name in names), f"{licence} is missing"


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_the_page_of_a_distribution_can_be_read_on_an_index(dist: Path, distribution: Distribution) -> None:
    text = metadata_in(wheel_of(dist, distribution)).description or ""
    page = render(text)
    assert page is not None
    targets = [link["target"] for link in TARGET.finditer(page)]
    assert [target for target in targets if not target.startswith(("https://", "#"))] == [], "dead on an index"
    assert re.match(r"# \S", text), "a title"
    assert "pip install" in text
    assert len(text.split()) >= 60, "what it is for, to somebody who knows nothing of the repository"


@pytest.mark.parametrize("distribution", WITH_CODE, ids=lambda distribution: distribution.name)
def test_type_checkers_read_the_types_of_each_package_in_a_wheel(dist: Path, distribution: Distribution) -> None:
    with zipfile.ZipFile(wheel_of(dist, distribution)) as wheel:
        names = set(wheel.namelist())
    packages = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert packages
    for package in packages:
        assert f"{package}/py.typed" in names


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_a_wheel_requires_what_its_sources_say(dist: Path, distribution: Distribution) -> None:
    metadata = metadata_in(wheel_of(dist, distribution))
    expected: set[str] = set()
    for extra, requirements in distribution.extras.items():
        expected.update(within(requirement, extra) for requirement in requirements)
    assert {str(requirement) for requirement in metadata.requires_dist or ()} == expected
    assert set(metadata.provides_extra or ()) == set(distribution.extras) - {""}
    assert (metadata.name, metadata.version) == (distribution.name, Version(distribution.project["version"]))


def within(requirement: Requirement, extra: str) -> str:
    """Return a requirement of an extra as metadata spell it."""
    if not extra:
        return str(requirement)
    text, _, marker = str(requirement).partition("; ")
    condition = f"extra == '{extra}'"
    if marker:
        condition = f"{marker} and {condition}"
    return str(Requirement(f"{text}; {condition}"))


@pytest.mark.parametrize("distribution", WITH_CODE, ids=lambda distribution: distribution.name)
def test_a_wheel_has_all_files_of_its_package(dist: Path, distribution: Distribution) -> None:
    sources = distribution.folder / "src"
    files: set[str] = set()
    for folder, _, names in os.walk(sources, followlinks=True):
        for name in names:
            file = Path(folder) / name
            if not CACHES.search(str(file)):
                files.add(file.relative_to(sources).as_posix())
    with zipfile.ZipFile(wheel_of(dist, distribution)) as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_a_wheel_is_the_same_whether_it_is_built_from_a_clone_or_from_the_source_distribution(
    dist: Path, distribution: Distribution, tmp_path: Path
) -> None:
    with chdir(distribution.folder):
        second = tmp_path / build_wheel(str(tmp_path))
    assert second.read_bytes() == (dist / second.name).read_bytes()


@pytest.mark.nightly
def test_muntin_installs_from_the_wheels_alone(dist: Path, tmp_path: Path) -> None:
    """What others publish is there already, as links to this environment; nothing of ours is."""
    programs = create_environment(tmp_path / "environment")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1"}

    def run(program: str, *words: str) -> str:
        """Run a program of the environment, and return what it prints."""
        command = [str(programs / program), *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--find-links", str(dist), "muntin")
    (version,) = {distribution.project["version"] for distribution in OURS.values()}
    assert run("muntin", "--version") == f"muntin {version}\n"
    modules = run("muntin", "modules")
    assert "stats.count" in modules
    assert "patterns.followed_by" in modules

    code = (
        "import importlib.metadata, muntin, muntin_adapters, muntin_engine\n"
        f"print(*{{importlib.metadata.version(name) for name in {list(OURS)}}})\n"
        "print(all('site-packages' in package.__file__ for package in (muntin, muntin_adapters, muntin_engine)))\n"
        "print(muntin_engine.module('stats.average', 'km').cls.name)\n"
    )
    assert run("python", "-c", code) == f"{version}\nTrue\nstats.average\n"
