"""The tutorial, followed by its own commands: from an empty folder to a module that runs by name on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_pages import FOLLOWED, Shown, comparable
from tests.docs.pages import ROOT, blocks
from tests.docs.tutorial.following import follow

pytestmark = pytest.mark.nightly

COMMANDS: list[str] = []
for shell_block in blocks(FOLLOWED):
    if shell_block.language == "shell":
        COMMANDS += shell_block.lines
PLUGIN = "home/plugins/muntin-weather"
"""Where the page makes the package, in the folder of its reader."""


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reader."""
    return tmp_path_factory.mktemp("reader")


@pytest.fixture(scope="module")
def shown(readers: Path) -> list[Shown]:
    """What the page shows and what it printed here; a command that fails has failed the fixture."""
    return list(follow(FOLLOWED, readers))


def test_the_commands_print_what_the_page_shows(shown: list[Shown]) -> None:
    assert len(shown) == FOLLOWED.read_text(encoding="utf-8").count("<!-- shows -->")
    for item in shown:
        assert comparable(item.block.text) == comparable(item.text), (
            f"{item.block}: {item.command} prints something else"
        )


def test_the_module_ran_by_name_on_executors_of_their_own(shown: list[Shown], readers: Path) -> None:
    log = (readers / PLUGIN / "spark.log").read_text(encoding="utf-8")
    assert log.count("Executor added: app-") == 2
    assert 'module("weather.gust_factor", ' in (readers / PLUGIN / "gusts.py").read_text(encoding="utf-8")


def test_nothing_of_it_came_from_the_repository(shown: list[Shown], readers: Path) -> None:
    (site_packages,) = readers.glob("environment/lib/python*/site-packages")
    packages = list(site_packages.glob("muntin*"))
    assert {package.name for package in packages} >= {"muntin", "muntin_cli", "muntin_engine"}
    for package in packages:
        assert ROOT not in package.resolve().parents

    # The only folder outside of the environment is that of the reader's own package, which can be edited.
    (link,) = site_packages.glob("*.pth")
    assert link.read_text(encoding="utf-8").strip() == str(readers / PLUGIN / "src")


@pytest.mark.parametrize(
    "command",
    ["muntin new weather", "pip install --editable '.[test]'", "pytest", "--master 'local-cluster[2,1,1024]'"],
)
def test_the_page_has_the_commands_that_the_promise_is_about(command: str) -> None:
    assert any(command in line for line in COMMANDS)
