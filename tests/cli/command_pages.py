"""`python -m tests.cli.command_pages [page ...]`: run the commands on pages and write what they print below them.

A block of text marked `<!-- shows -->` is what the last command above it prints. Look at the difference before you
keep it.
"""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from typer.testing import CliRunner

from muntin.catalog import installed
from muntin_cli import app
from tests.docs.pages import DOCS, PAGES, Block, blocks, name_of
from tests.docs.runner import tidy

VARYING: Final = re.compile(r"\d+ modules? in \d+ ms|Python 3\.\d+\.\d+|: \d+ bytes")
"""What has another number on another machine."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A block of a page that shows what a command prints, and what it printed here.

    Attributes:
        block: The block.
        command: The command.
        code: The exit code with which it ended here.
        text: Output of the command here.
    """

    block: Block
    command: str
    code: int
    text: str


def commands_on(page: Path) -> list[tuple[Block, list[str]]]:
    """Return the calls of the command on a page, each with its block."""
    calls: list[tuple[Block, list[str]]] = []
    for block in blocks(page):
        if block.language != "shell":
            continue
        for line in block.lines:
            if line.split()[:1] == ["muntin"]:
                calls.append((block, shlex.split(line, comments=True)))
    return calls


PAGES_WITH_COMMANDS: Final = [page for page in PAGES if commands_on(page)]
FOLLOWED: Final = DOCS / "tutorials" / "publish-a-plugin.md"
"""The page that `tests/docs/tutorial` follows from its first command to its last."""


def run_page(page: Path, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Shown]:
    """Run the commands of a page whose output it shows, as a reader would in an empty folder."""
    patch.setenv("MUNTIN_PLUGINS", "stats,patterns")
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    with chdir(folder):
        for block, next_block in itertools.zip_longest(blocks(page), blocks(page)[1:]):
            if block.file is not None:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "shell" and next_block is not None and next_block.comment == "shows":
                yield _run_commands(block, next_block)


def comparable(text: str) -> str:
    """Return text without what differs from machine to machine."""
    return VARYING.sub("...", tidy(text))


def write_shown(page: Path, shown: Iterable[Shown]) -> None:
    """Write what the commands of a page print below them."""
    lines = page.read_text(encoding="utf-8").splitlines()
    # From the last block to the first: lines that are added or removed move none of those above.
    for item in sorted(shown, key=lambda item: -item.block.line):
        start = item.block.line - 1
        lines[start : start + len(item.block.lines)] = tidy(item.text).splitlines()
    page.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _run_commands(block: Block, output: Block) -> Shown:
    """Run the commands of a block, and return the output of the last one.

    Args:
        block: The block with the commands, one at least.
        output: The block that shows what the last one prints.
    """
    commands = [line for line in block.lines if line.startswith("muntin ")]
    for command in commands:
        installed.cache_clear()  # a command may have installed a plugin
        words = shlex.split(command, comments=True)
        result = CliRunner().invoke(app, words[1:], prog_name="muntin")
    return Shown(output, commands[-1], result.exit_code, result.stdout)


def main(names: list[str]) -> None:
    """Write what the commands of pages print.

    Args:
        names: The names of the pages; all that can be run here, if there are none.
    """
    for page in PAGES_WITH_COMMANDS:
        if page == FOLLOWED or (names and name_of(page) not in names):
            continue
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            shown = list(run_page(page, Path(folder), patch))
        write_shown(page, shown)


if __name__ == "__main__":
    main(sys.argv[1:])
