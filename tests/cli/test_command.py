"""The command as a whole: its help, its exit codes, a program of its own, and what pages show of it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path

import pytest

from docs.build_pages import commands, describe_command
from muntin.catalog import installed
from muntin.errors import ModuleDefinitionError, MuntinError, PluginLoadError, QueryError
from muntin_cli.command_names import COMMAND_BY_WORD
from muntin_cli.errors import EnvironmentLacksError, UsageError, exit_code_of
from muntin_cli.exit_codes import ExitCode
from muntin_engine import SetupError
from tests.cli.command_pages import FOLLOWED, PAGES_WITH_COMMANDS, commands_on, comparable, run_page
from tests.cli.running import CommandRun, Run
from tests.docs.pages import REFERENCE, headings, name_of

COMMANDS = (
    "new",
    "modules",
    "describe",
    "check",
    "stubs",
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
"""The commands as one calls them: `checkpoint` has commands of its own."""


def test_the_help_lists_the_commands_and_the_exit_codes(muntin: Run) -> None:
    done = muntin("--help")
    assert done.code == 0
    _, _, list_of_commands = done.output.partition("Commands:")
    words = [line.split()[0] for line in list_of_commands.splitlines() if line.startswith("  ")]
    assert tuple(words[: len(COMMANDS)]) == COMMANDS
    assert "..." not in list_of_commands, "a summary is cut off"
    assert "0 all is well, 1 findings, 2 wrong usage" in done.output


def test_the_command_alone_shows_its_help_which_says_that_it_runs_queries(muntin: Run) -> None:
    assert muntin() == muntin("--help")
    assert "Run queries" in muntin().output


@pytest.mark.parametrize("name", CALLED)
def test_the_help_of_a_command_ends_with_examples_and_what_it_prints(name: str, muntin: Run) -> None:
    ending = commands()[f"muntin {name}"].epilog or ""
    assert ending.startswith("\b\nExamples:\n  muntin ")
    assert re.search(r"^It (prints|writes) .*\.$", ending, re.MULTILINE)
    assert examples_in(ending)[0] in muntin(*name.split(), "--help").output


@pytest.mark.parametrize("name", CALLED)
def test_the_examples_of_a_command_have_options_and_arguments_that_it_takes(name: str) -> None:
    command = commands()[f"muntin {name}"]
    examples = examples_in(command.epilog or "")
    assert examples
    for example in examples:
        words = list(takewhile(lambda word: word not in (">", "|"), shlex.split(example)))  # the rest is for the shell
        begin = ["muntin", *name.split()]
        assert words[: len(begin)] == begin
        command.make_context(name, words[len(begin) :])  # raises for an option or an argument that does not exist


def examples_in(ending: str) -> list[str]:
    """Return the calls in the examples at the end of a help."""
    return re.findall(r"^  (muntin .*)$", ending, re.MULTILINE)


def test_a_word_of_another_tool_is_refused_with_the_command_that_does_it(muntin: Run) -> None:
    done = muntin("list")
    assert done.code == 2
    assert "No such command 'list'. Did you mean 'modules'?" in done.errors


def test_the_words_of_other_tools_are_no_commands_and_lead_to_commands() -> None:
    assert set(COMMAND_BY_WORD.values()) <= set(COMMANDS)
    assert not COMMAND_BY_WORD.keys() & set(COMMANDS)


def test_it_says_its_version(muntin: Run) -> None:
    assert muntin("--version") == CommandRun(0, f"muntin {version('muntin-cli')}\n", "")


@pytest.mark.parametrize("arguments", [("nwe",), ("new",), ("modules", "--jsno"), ("describe",)])
def test_a_command_or_an_option_or_an_argument_that_is_wrong_or_missing_is_wrong_usage(
    arguments: tuple[str, ...], muntin: Run
) -> None:
    assert muntin(*arguments).code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("?"), ExitCode.USAGE),
        (QueryError("?"), ExitCode.USAGE),
        (ModuleDefinitionError("?"), ExitCode.FINDINGS),
        (PluginLoadError("tides", "muntin-tides 1.0", "?"), ExitCode.FINDINGS),
        (EnvironmentLacksError("?"), ExitCode.ENVIRONMENT),
        (SetupError("?"), ExitCode.ENVIRONMENT),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, MuntinError) else value.name,
)
def test_who_must_act_decides_the_exit_code(error: MuntinError, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_it_is_a_program_with_exit_codes_and_errors_on_the_standard_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "muntin_cli", "new", "weather"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("muntin-weather is a working package")
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("muntin: muntin-weather exists already\n")


def test_describing_and_listing_import_neither_pyspark_nor_pandas_nor_pyarrow() -> None:
    program = (
        "import sys\nfrom typer.testing import CliRunner\nfrom muntin_cli import app\n"
        "for call in (['modules'], ['describe', 'stats.average']):\n    CliRunner().invoke(app, call)\n"
        "print(*sorted({'pyspark', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


def test_the_command_does_not_import_hypothesis_whose_own_discovery_trips_over_malformed_packages(
    tmp_path: Path,
) -> None:
    program = "import sys, muntin_cli; print('hypothesis' in sys.modules)"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout == "False\n"


SHOWING = [page for page in PAGES_WITH_COMMANDS if "<!-- shows -->" in page.read_text(encoding="utf-8")]
IN_PROCESS = [page for page in SHOWING if page != FOLLOWED]
SECTIONS = {heading.text: heading.section for heading in headings(REFERENCE / "command.md")}


@pytest.fixture(autouse=True)
def installation_is_read_anew() -> Iterator[None]:
    """Later tests look for plugins again: a page lets others be seen."""
    yield
    installed.cache_clear()


@pytest.mark.parametrize("page", IN_PROCESS, ids=name_of)
def test_a_command_prints_what_its_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands_run = 0
    for shown in run_page(page, tmp_path, monkeypatch):
        commands_run += 1
        assert shown.code == 0, f"{shown.command}: {shown.text}"
        assert comparable(shown.block.text) == comparable(shown.text), (
            f"{shown.block}: {shown.command} prints something else"
        )
    assert commands_run == page.read_text(encoding="utf-8").count("<!-- shows -->")


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_the_commands_and_options_on_a_page_exist(page: Path, muntin: Run) -> None:
    for block, (_, command, *arguments) in commands_on(page):
        name = [command, arguments[0]] if command == "checkpoint" else [command]
        help_text = muntin(*name, "--help").output
        assert f"Usage: muntin {' '.join(name)}" in help_text, block
        options = [word.partition("=")[0] for word in arguments if word.startswith("--")]
        assert [option for option in options if option not in help_text] == [], block


@pytest.mark.parametrize("command", CALLED)
def test_the_reference_has_each_command_with_each_option(command: str, muntin: Run) -> None:
    _, _, list_of_options = muntin(*command.split(), "--help").output.partition("Options:")
    options = set(re.findall(r"--[a-z-]+", list_of_options)) - {"--help"}
    section = describe_command(f"muntin {command}")
    assert set(re.findall(r"^- `(--[a-z-]+)`: \w", section, re.MULTILINE)) == options
    assert f"muntin {command}" in SECTIONS


def test_pages_with_commands_were_found() -> None:
    assert "docs/reference/command.md" in {name_of(page) for page in IN_PROCESS}
    assert FOLLOWED in SHOWING
