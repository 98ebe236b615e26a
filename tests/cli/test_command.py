"""The command as a whole: its help, its exit codes, a program of its own, and what pages show of it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from docs.build_pages import describe_command
from muntin.catalog import installed
from muntin.errors import ModuleDefinitionError, MuntinError, PluginLoadError, QueryError
from muntin_cli.command_names import COMMAND_BY_WORD
from muntin_cli.errors import EnvironmentLacksError, UsageError, exit_code_of
from muntin_cli.exit_codes import ExitCode
from muntin_engine import SetupError
from tests.cli.command_pages import FOLLOWED, PAGES_WITH_COMMANDS, alike, commands_on, run_page
from tests.cli.running import CommandRun, Run
from tests.docs.pages import REFERENCE, headings, name_of

COMMANDS = (
    "new",
    "modules",
    "describe",
    "check",
    "run",
    "query",
    "replay",
    "shrink",
    "look",
    "backtest",
    "state",
    "schema",
    "doctor",
    "checkpoint",
)
CALLED = [*COMMANDS[:-1], "checkpoint copy"]
"""The commands as one calls them."""


def test_the_help_lists_the_commands_and_the_exit_codes(muntin: Run) -> None:
    done = muntin("--help")
    assert done.code == 0
    listed = [line.split()[0] for line in done.output.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert tuple(listed[: len(COMMANDS)]) == COMMANDS
    assert "..." not in done.output.partition("Commands:")[2], "a summary is cut off"
    assert "0 all is well, 1 findings, 2 wrong usage" in done.output


def test_the_command_alone_shows_its_help_which_says_that_it_runs_queries(muntin: Run) -> None:
    assert muntin() == muntin("--help")
    assert "Run queries" in muntin().output


def test_a_word_of_another_tool_is_refused_with_the_command_that_does_it(muntin: Run) -> None:
    done = muntin("list")
    assert done.code == 2
    assert "No such command 'list'. Did you mean 'modules'?" in done.errors
    assert set(COMMAND_BY_WORD.values()) <= set(COMMANDS)
    assert not COMMAND_BY_WORD.keys() & set(COMMANDS)


def test_it_says_its_version(muntin: Run) -> None:
    assert muntin("--version") == CommandRun(0, f"muntin {version('muntin-cli')}\n", "")


@pytest.mark.parametrize("arguments", [("nwe",), ("new",), ("modules", "--jsno"), ("describe",)])
def test_what_cannot_be_read_is_wrong_usage(arguments: tuple[str, ...], muntin: Run) -> None:
    assert muntin(*arguments).code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("?"), ExitCode.USAGE),
        (EnvironmentLacksError("?"), ExitCode.ENVIRONMENT),
        (QueryError("?"), ExitCode.USAGE),
        (ModuleDefinitionError("?"), ExitCode.FINDINGS),
        (PluginLoadError("tides", "muntin-tides 1.0", "?"), ExitCode.FINDINGS),
        (SetupError("?"), ExitCode.ENVIRONMENT),
    ],
)
def test_who_must_act_decides_the_exit_code(error: MuntinError, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_it_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muntin_cli", "new", "weather"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("muntin-weather is a working package")
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("muntin: muntin-weather exists already\n")


def test_describing_and_listing_start_neither_spark_nor_pandas(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom muntin_cli import app\n"
        "for call in (['modules'], ['describe', 'stats.average']):\n    CliRunner().invoke(app, call)\n"
        "print(*sorted({'pyspark', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


def test_listing_does_not_start_hypothesis_whose_own_discovery_trips_over_malformed_packages(tmp_path: Path) -> None:
    program = "import sys, muntin_cli; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False).returncode == 0


SHOWING = [page for page in PAGES_WITH_COMMANDS if "<!-- shows -->" in page.read_text(encoding="utf-8")]
IN_PROCESS = [page for page in SHOWING if page != FOLLOWED]
SECTIONS = {heading.text: heading.section for heading in headings(REFERENCE / "command.md")}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    installed.cache_clear()


@pytest.mark.parametrize("page", IN_PROCESS, ids=name_of)
def test_a_command_prints_what_its_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = 0
    for shown in run_page(page, tmp_path, monkeypatch):
        examples += 1
        assert shown.code == 0, f"{shown.command}: {shown.text}"
        assert alike(shown.block.text) == alike(shown.text), f"{shown.block}: {shown.command} prints something else"
    assert examples == page.read_text(encoding="utf-8").count("<!-- shows -->")


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_the_commands_and_options_on_a_page_exist(page: Path, muntin: Run) -> None:
    for block, (_, command, *arguments) in commands_on(page):
        called = [command, arguments[0]] if command == "checkpoint" else [command]
        help_text = muntin(*called, "--help").output
        options = [word.partition("=")[0] for word in arguments if word.startswith("--")]
        assert f"Usage: muntin {' '.join(called)}" in help_text, block
        assert [option for option in options if option not in help_text] == [], block


@pytest.mark.parametrize("command", CALLED)
def test_the_reference_has_each_command_with_each_option(command: str, muntin: Run) -> None:
    section = describe_command(f"muntin {command}")
    options = set(re.findall(r"--[a-z-]+", muntin(*command.split(), "--help").output.partition("Options:")[2])) - {
        "--help"
    }
    assert set(re.findall(r"^- `(--[a-z-]+)`: \w", section, re.MULTILINE)) == options
    assert f"muntin {command}" in SECTIONS


def test_pages_with_commands_were_found() -> None:
    assert "docs/reference/command.md" in {name_of(page) for page in IN_PROCESS}
    assert FOLLOWED in SHOWING
