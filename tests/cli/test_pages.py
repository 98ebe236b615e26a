"""The commands on pages exist, and print what the pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin.catalog import installed
from tests.cli.command_pages import FOLLOWED, PAGES_WITH_COMMANDS, alike, commands_on, run_page
from tests.cli.running import Run
from tests.cli.test_command import COMMANDS
from tests.docs.pages import REFERENCE, headings, name_of

SHOWING = [page for page in PAGES_WITH_COMMANDS if "<!-- shows -->" in page.read_text(encoding="utf-8")]
IN_PROCESS = [page for page in SHOWING if page != FOLLOWED]
SECTIONS = {heading.text: heading.section for heading in headings(REFERENCE / "command.md")}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    installed.cache_clear()


@pytest.mark.parametrize("page", IN_PROCESS, ids=name_of)
def test_a_command_prints_what_its_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = 0
    for shown in run_page(page, tmp_path, monkeypatch):
        found += 1
        assert shown.code == 0, f"{shown.command}: {shown.text}"
        assert alike(shown.block.text) == alike(shown.text), f"{shown.block}: {shown.command} prints something else"
    assert found == page.read_text(encoding="utf-8").count("<!-- shows -->")


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_the_commands_and_options_on_a_page_exist(page: Path, muntin: Run) -> None:
    for block, (_, command, *arguments) in commands_on(page):
        known = muntin(command, "--help").output
        options = [word.partition("=")[0] for word in arguments if word.startswith("--")]
        assert f"Usage: muntin {command}" in known, block
        assert [option for option in options if option not in known] == [], block


@pytest.mark.parametrize("command", COMMANDS)
def test_the_reference_has_each_command_with_each_option(command: str, muntin: Run) -> None:
    section = SECTIONS[f"muntin {command}"]
    options = set(re.findall(r"--[a-z-]+", muntin(command, "--help").output.partition("Options:")[2])) - {"--help"}
    assert set(re.findall(r"^\| `(--[a-z-]+)`", section, re.MULTILINE)) == options


def test_pages_with_commands_were_found() -> None:
    assert "docs/how-to/use-the-command.md" in {name_of(page) for page in IN_PROCESS}
    assert FOLLOWED in SHOWING
