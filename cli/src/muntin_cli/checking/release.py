"""What is left to do before a package is released, and the badge that its README may have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from muntin.catalog import Plugin
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, ok, to_do
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.offered import code_of, offered_by
from muntin_cli.processes import run

_TEMPLATE_DESCRIPTION: Final = "what they compute, in one line"
_TEMPLATE_AUTHORS: Final = "The authors of "
_PYTHON: Final = "Programming Language :: Python :: 3."
_ON_GITHUB: Final = re.compile(r"github\.com[:/](?P<repository>[^/\s]+/[^/\s]+?)(?:\.git)?/?$")
_LAWS: Final = re.compile(r"\b\w*Laws\b|\bcheck_sink\b")
"""A laws class, or the call that tries the laws of a sink."""


def check_release(package: Package, folder: Path, plugins: Sequence[Plugin]) -> Section:
    """Say of each thing that a release needs whether it is there, or what to do.

    Args:
        package: The package.
        folder: Folder of its sources.
        plugins: Its plugins, as far as they load.
    """
    project = _project_in(folder)
    items = [
        _version(package, folder),
        *_metadata(project),
        _file(folder, "README", "what it offers, and how a query uses it"),
        _file(folder, "LICENSE", "the text of the licence"),
        _changelog(package, folder),
        *_classifiers(project),
        _laws(package, plugins),
        _tag(package, folder),
    ]
    return Section("before a release", tuple(items))


def badge_for(package: Package, folder: Path) -> str:
    """Return the line of Markdown that shows the result of the package's tests on GitHub.

    It is empty if the README has a badge, or no workflow runs the tests.
    """
    readme = _find(folder, "README")
    has_badge = readme is not None and "badge.svg" in readme.read_text(encoding="utf-8", errors="replace")
    if has_badge or not (folder / ".github/workflows/test.yml").is_file():
        return ""
    workflow = f"https://github.com/{_repository(package, folder)}/actions/workflows/test.yml"
    return f"[![muntin check of the newest commit]({workflow}/badge.svg)]({workflow})"


def _version(package: Package, folder: Path) -> Item:
    """Say which version would be released; it has to be raised if its tag is at another commit than the present one."""
    tag = f"v{package.version}"
    # An annotated tag is an object of its own: `^{commit}` is the commit that it points at.
    tagged_commit = _git(folder, "rev-parse", "--verify", "--quiet", f"{tag}^{{commit}}")
    if tagged_commit and tagged_commit != _git(folder, "rev-parse", "HEAD"):
        return to_do(f"{package.version} is tagged already, at another commit\n  raise version in pyproject.toml")
    return ok(f"version {package.version}")


def _metadata(project: Mapping[str, Any]) -> Iterator[Item]:
    """Say of the description, the authors and the addresses in `pyproject.toml` whether they are written."""
    description = project.get("description", "")
    if not description or _TEMPLATE_DESCRIPTION in description:
        yield to_do("pyproject.toml does not say what the package computes\n  write description, in one line")
    else:
        yield ok(f"description: {description}")
    authors = ", ".join(author.get("name") or author.get("email", "") for author in project.get("authors", ()))
    if not authors or authors.startswith(_TEMPLATE_AUTHORS):
        yield to_do("pyproject.toml names no author\n  write authors")
    else:
        yield ok(f"authors: {authors}")
    if project.get("urls"):
        yield ok(f"addresses: {', '.join(project['urls'])}")
    else:
        yield to_do("pyproject.toml has no address of the sources\n  write [project.urls] with Source")


def _file(folder: Path, name: str, contents: str) -> Item:
    """Say whether a folder has a file that is not empty.

    Args:
        folder: The folder.
        name: The beginning of the file's name, such as README.
        contents: The contents that such a file ought to have, in words.
    """
    file = _find(folder, name)
    if file is None or not file.read_bytes().strip():
        return to_do(f"there is no {name}\n  write {contents}")
    return ok(file.name)


def _changelog(package: Package, folder: Path) -> Item:
    """Say whether there is a changelog that has the version of the package."""
    file = _find(folder, "CHANGELOG") or _find(folder, "CHANGES")
    if file is None:
        return to_do("there is no CHANGELOG.md\n  write what each version changes")
    if package.version not in file.read_text(encoding="utf-8", errors="replace"):
        return to_do(f"{file.name} does not have {package.version}\n  write what it changes")
    return ok(f"{file.name} has {package.version}")


def _classifiers(project: Mapping[str, Any]) -> Iterator[Item]:
    """Say whether the classifiers of `pyproject.toml` name the versions of Python, and that the package has types."""
    classifiers: Sequence[str] = project.get("classifiers", ())
    pythons = [classifier.rpartition(" ")[2] for classifier in classifiers if classifier.startswith(_PYTHON)]
    if pythons:
        yield ok(f"classifiers: Python {', '.join(pythons)}")
    else:
        yield to_do(f"no classifier says which Pythons it is tested on\n  write them, such as '{_PYTHON}13'")
    if "Typing :: Typed" not in classifiers:
        yield to_do("no classifier says that it has types\n  write 'Typing :: Typed'")


def _laws(package: Package, plugins: Sequence[Plugin]) -> Item:
    """Say whether the tests try the laws of each offer.

    They do so for an offer if a file that has a laws class mentions it. Of a package whose offers have no names, such
    as sinks, it is enough that some test tries laws.
    """
    texts: list[str] = []
    test_files = [] if package.tests is None else sorted(package.tests.rglob("*.py"))
    for file in test_files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if _LAWS.search(text):
            texts.append(text)
    if not texts:
        return to_do("no test tries laws\n  write a laws class for each module, such as AggregateLaws")
    missing: list[str] = []
    for plugin in plugins:
        for name, offered in offered_by(plugin).items():
            word = re.compile(rf"\b{re.escape(code_of(offered).__name__)}\b")
            if not any(word.search(text) for text in texts):
                missing.append(name)
    if missing:
        return to_do(f"no test tries the laws of {', '.join(missing)}\n  write a laws class for each")
    return ok("its tests try the laws")


def _tag(package: Package, folder: Path) -> Item:
    """Say whether the commit of the version is tagged, and what a tag has as its effect."""
    tag = f"v{package.version}"
    if _git(folder, "tag", "--list", tag):
        return ok(f"tag {tag}")
    publishes = (folder / ".github/workflows/release.yml").is_file()
    effect = "which has it published" if publishes else "and upload it"
    return to_do(f"there is no tag {tag}\n  when all else is done: git tag {tag}; git push origin {tag}, {effect}")


def _repository(package: Package, folder: Path) -> str:
    """Return the owner and the name of the repository on GitHub; capital letters where the owner is not known."""
    addresses = [_git(folder, "config", "--get", "remote.origin.url"), *_project_in(folder).get("urls", {}).values()]
    for address in addresses:
        on_github = _ON_GITHUB.search(address)
        if on_github:
            return on_github["repository"]
    return f"OWNER/{package.name}"


def _project_in(folder: Path) -> Mapping[str, Any]:
    """Return the table `project` of `pyproject.toml`; empty if there is none."""
    try:
        project: Mapping[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return {}
    return project


def _find(folder: Path, name: str) -> Path | None:
    """Return the file of a name with any ending, such as README.md."""
    return next((file for file in sorted(folder.glob(f"{name}*")) if file.is_file()), None)


def _git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output; empty if the folder is in no repository, or git is not installed."""
    try:
        process = run(["git", *arguments], str(folder))
    except EnvironmentLacksError:
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""
