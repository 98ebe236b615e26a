"""The distributions as they are published: what is in the wheels, what they say, and that they install."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from contextlib import chdir
from pathlib import Path

import pytest
from hatchling.build import build_wheel
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.version import Version

from release.building import build
from release.checking import faults_of
from release.distributions import Distribution, distributions
from tests.docs.tutorial.environment import create_environment

OURS = distributions()
CACHES = re.compile(r"/(__pycache__|\.[a-z]+_cache)/")
WITH_CODE = [each for each in OURS.values() if (each.folder / "src").is_dir()]

PAGE = (
    "# far\n\nFar modules, for whoever is far away.\n\n```shell\npip install far\n```\n\n" + "Another sentence. " * 30
)
FIELDS = {
    "Metadata-Version": "2.4",
    "Name": "far",
    "Version": "1.0",
    "Summary": "Far modules",
    "Author": "Somebody",
    "License-Expression": "MIT",
    "License-File": "LICENSE",
    "Keywords": "far",
    "Classifier": "Typing :: Typed",
    "Requires-Python": ">=3.11",
    "Description-Content-Type": "text/markdown",
}
FILES = {"far/__init__.py": "", "far/py.typed": "", "far-1.0.dist-info/licenses/LICENSE": "as you like"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `make dist` makes."""
    into = tmp_path_factory.mktemp("dist")
    for each in OURS.values():
        build(each.folder, into)
    return into


def wheel_of(dist: Path, distribution: Distribution) -> Path:
    version = distribution.project["version"]
    return dist / f"{distribution.name.replace('-', '_')}-{version}-py3-none-any.whl"


def metadata_in(wheel: Path) -> Metadata:
    with zipfile.ZipFile(wheel) as files:
        said = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return Metadata.from_email(files.read(said))


def test_no_wheel_and_no_source_distribution_has_a_fault(dist: Path) -> None:
    built = sorted(dist.iterdir())
    assert len(built) == 2 * len(OURS)
    assert {path.name: faults for path in built if (faults := list(faults_of(path)))} == {}


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_a_wheel_requires_what_its_sources_say(dist: Path, distribution: Distribution) -> None:
    metadata = metadata_in(wheel_of(dist, distribution))
    wanted = {
        within(requirement, extra)
        for extra, requirements in distribution.extras.items()
        for requirement in requirements
    }
    assert {str(requirement) for requirement in metadata.requires_dist or ()} == wanted
    assert set(metadata.provides_extra or ()) == set(distribution.extras) - {""}
    assert (metadata.name, metadata.version) == (distribution.name, Version(distribution.project["version"]))


def within(requirement: Requirement, extra: str) -> str:
    """Return a requirement of an extra as metadata spell it."""
    if not extra:
        return str(requirement)
    text, _, marker = str(requirement).partition("; ")
    return str(Requirement(f"{text}; {marker} and extra == '{extra}'" if marker else f"{text}; extra == '{extra}'"))


@pytest.mark.parametrize("distribution", WITH_CODE, ids=lambda each: each.name)
def test_a_wheel_has_all_files_of_its_package(dist: Path, distribution: Distribution) -> None:
    sources = distribution.folder / "src"
    found = [Path(folder) / name for folder, _, names in os.walk(sources, followlinks=True) for name in names]
    files = {file.relative_to(sources).as_posix() for file in found if not CACHES.search(str(file))}
    with zipfile.ZipFile(wheel_of(dist, distribution)) as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} == files


@pytest.mark.parametrize("distribution", OURS.values(), ids=OURS)
def test_a_wheel_is_the_same_whether_it_is_built_from_a_clone_or_from_the_source_distribution(
    dist: Path, distribution: Distribution, tmp_path: Path
) -> None:
    with chdir(distribution.folder):
        other = tmp_path / build_wheel(str(tmp_path))
    assert other.read_bytes() == (dist / other.name).read_bytes()


@pytest.mark.nightly
def test_muntin_installs_from_the_wheels_alone(dist: Path, tmp_path: Path) -> None:
    """What others publish is there already, as links to this environment; nothing of ours is."""
    programs = create_environment(tmp_path / "environment")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP"))}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1"}

    def run(program: str, *words: str) -> str:
        command = [str(programs / program), *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--find-links", str(dist), "muntin")
    (version,) = {each.project["version"] for each in OURS.values()}
    assert run("muntin", "--version") == f"muntin {version}\n"
    listed = run("muntin", "modules")
    assert "stats.count" in listed
    assert "patterns.followed_by" in listed
    code = (
        "import importlib.metadata, muntin, muntin_adapters, muntin_engine\n"
        f"print(*{{importlib.metadata.version(name) for name in {list(OURS)}}})\n"
        "print(all('site-packages' in package.__file__ for package in (muntin, muntin_adapters, muntin_engine)))\n"
        "print(muntin_engine.module('stats.average', 'km').cls.name)\n"
    )
    assert run("python", "-c", code) == f"{version}\nTrue\nstats.average\n"


def test_the_wheel_that_faults_are_put_into_has_none(tmp_path: Path) -> None:
    assert list(faults_of(write_wheel(tmp_path))) == []


@pytest.mark.parametrize(
    ("fields", "page", "files", "fault"),
    [
        ({"Summary": None}, PAGE, FILES, "its metadata have no summary"),
        ({"Keywords": None}, PAGE, FILES, "its metadata have no keywords"),
        ({"Requires-Python": "soon"}, PAGE, FILES, "its metadata are invalid: 'soon' is invalid for 'requires-python'"),
        ({"License-File": "NOTICE"}, PAGE, FILES, "it has no file NOTICE"),
        ({}, PAGE, {**FILES, "far/tests/__init__.py": ""}, "it has far/tests/__init__.py, which nobody imports"),
        ({}, PAGE, {**FILES, "far/test_far.py": ""}, "it has far/test_far.py, which nobody imports"),
        ({}, PAGE, {**FILES, "farther/__init__.py": ""}, "farther has no py.typed, so type checkers ignore its types"),
        ({}, PAGE[2:], FILES, "its long description does not begin with a title"),
        ({}, "# far\n\npip install far", FILES, "its long description has 5 words, which say too little"),
        ({}, PAGE.replace("pip", "do"), FILES, "its long description does not say how to install it"),
        (
            {"Description-Content-Type": "text/plain"},
            PAGE,
            FILES,
            "its long description is text/plain, and an index is to show it as Markdown",
        ),
        (
            {},
            f"{PAGE}\n[more](docs/install.md)",
            FILES,
            "its long description links to docs/install.md, which is not there on an index",
        ),
        (
            {},
            f"{PAGE}\n![a picture](pictures/a.svg)",
            FILES,
            "its long description links to pictures/a.svg, which is not there on an index",
        ),
    ],
)
def test_a_wheel_with_a_fault_is_found_out(
    tmp_path: Path, fields: dict[str, str | None], page: str, files: dict[str, str], fault: str
) -> None:
    assert list(faults_of(write_wheel(tmp_path, fields, page, files))) == [fault]


def write_wheel(
    folder: Path, fields: dict[str, str | None] | None = None, page: str = PAGE, files: dict[str, str] = FILES
) -> Path:
    """Write a wheel of a package `far`; a field that is None is left out."""
    said = [f"{name}: {text}" for name, text in {**FIELDS, **(fields or {})}.items() if text is not None]
    path = folder / "far-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("far-1.0.dist-info/METADATA", "\n".join([*said, "", page]))
        for name, text in files.items():
            wheel.writestr(name, text)
    return path
