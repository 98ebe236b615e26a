"""What the pages show runs, and prints what they say.

Run `.venv/bin/python -m tests.docs.write_outputs README.md` to write the outputs of a page anew.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from contextlib import suppress
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import muntin.testing
from muntin import Module
from muntin.testing import laws_of
from muntin_engine.packages.code_version import with_version
from tests.docs.pages import NOTEBOOKS, PAGES, ROOT, Block, blocks, name_of
from tests.docs.runner import Printed, needs_spark, open_page, tidy

LANGUAGES = {"python", "text", "toml", "shell", "sql", "json", "java", "csharp", "mermaid", "yaml"}
PROGRAMS = {
    *("cd", "export", "git", "make", "mkdir", "muntin", "pip", "pytest", "python", "rm"),
    *("cat", "cp", "spark-class", "spark-pipelines", "spark-submit", "ssh-keygen"),
}


def is_runnable(page: Path) -> bool:
    """True if a page has Python, and is no notebook."""
    return page not in NOTEBOOKS and any(block.language == "python" for block in blocks(page))


RUNNABLE = list(filter(is_runnable, PAGES))
BLOCKS = list(chain.from_iterable(map(blocks, PAGES)))
STREAMS = re.compile(r"\breadStream\b|\bwriteStream\b|\bawaitTermination\b")
"""The calls that start a streaming query, which takes seconds, or name one."""

BROKEN = {"rides.forgetful", "rides.pace", "tides.last", "trading.broken"}
"""Modules that show what an error looks like."""

LAWS = [getattr(muntin.testing, name) for name in muntin.testing.__all__ if name.endswith("Laws")]


def blocks_in(language: str) -> list[Block]:
    """Return the blocks of all pages in a language."""
    return [block for block in BLOCKS if block.language == language]


def assert_shown(printed: Printed) -> None:
    """Check that the page shows what a block printed; nothing, if it printed nothing."""
    shown = printed.shown.text if printed.shown is not None else ""
    assert tidy(printed.text) == tidy(shown), f"{printed.block} prints something else than the page shows"


def modules_in(namespace: dict[str, Any]) -> list[Module]:
    """Return the modules that a page defines; one whose parameters have no default is left to its own tests."""
    modules: list[Module] = []
    for value in namespace.values():
        is_module = isinstance(value, type) and issubclass(value, Module)
        if not is_module or value.__module__ != namespace["__name__"] or value.name in BROKEN:
            continue
        parameters = signature(value).parameters.values()
        if all(parameter.default is not parameter.empty for parameter in parameters):
            modules.append(with_version(value)())
    return modules


def assert_lawful(module: Module) -> None:
    """Check the laws of a module's base class, as a reader would who copies the module."""
    fitting_laws = [laws for laws in LAWS if isinstance(module, laws._subject_type)]
    laws = max(fitting_laws, key=lambda laws: len(laws.__mro__))  # those of the most specific base class
    tests = type(f"Test{type(module).__name__}", (laws,), {"module": module})()
    for name in laws_of(laws):
        with suppress(pytest.skip.Exception):
            getattr(tests, name)()


def case_of(page: Path) -> object:
    """Return a page as a case: a how-to that starts streams is nightly, and runs where it is named."""
    run_blocks = [block.text for block in blocks(page) if block.language == "python" and not block.is_not_run]
    text = "\n".join(run_blocks)
    is_long = page.parent.name == "how-to" and STREAMS.search(text) is not None
    marks = [pytest.mark.nightly] if is_long else []
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [case_of(page) for page in RUNNABLE])
def test_the_python_blocks_of_a_page_print_what_it_shows_and_its_modules_keep_their_laws(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    session = request.getfixturevalue("spark") if needs_spark(page) else None
    with open_page(page, tmp_path, session) as running_page:
        for printed in running_page.run():
            assert_shown(printed)
        for module in modules_in(running_page.namespace):
            assert_lawful(module)


def test_every_kind_of_page_has_python_blocks() -> None:
    folders = {name_of(page).rpartition("/")[0] for page in RUNNABLE}
    assert folders >= {"", "docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation"}


def test_every_block_says_its_language() -> None:
    assert BLOCKS
    for block in BLOCKS:
        assert block.language in LANGUAGES, block


def test_an_output_stands_right_below_the_python_block_that_prints_it() -> None:
    outputs = 0
    for page in PAGES:
        block_above: Block | None = None
        for block in blocks(page):
            if block.is_output:
                outputs += 1
                assert block.language == "text", block
                assert block_above is not None, block
                assert block_above.language == "python", block
                assert block_above.file is None, block
            block_above = block
    assert outputs


def test_a_block_that_is_not_run_says_why() -> None:
    for block in BLOCKS:
        if block.is_not_run:
            assert len(block.options.split()) >= 4, block  # the word `no-run`, and three of a reason


def test_toml_blocks_can_be_read() -> None:
    assert blocks_in("toml")
    for block in blocks_in("toml"):
        assert tomllib.loads(block.text), block


def test_shell_blocks_use_programs_that_the_reader_has_and_targets_that_the_makefile_has() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    commands: list[tuple[Block, list[str]]] = []
    for block in blocks_in("shell"):
        for line in block.text.replace("\\\n", "").splitlines():
            words = [word for word in shlex.split(line, comments=True) if "=" not in word]
            if words:
                commands.append((block, words))
    assert any(words[0] == "make" for _, words in commands)
    for block, (program, *arguments) in commands:
        assert Path(program).name in PROGRAMS, f"{block}: {program}"
        if program == "make":
            assert set(arguments) <= set(targets), f"{block}: {arguments}"
        if program == "pip":
            assert arguments[0] in ("install", "wheel"), f"{block}: {arguments}"


def test_a_cluster_gets_what_the_packages_need() -> None:
    page = (ROOT / "docs/deploy/run-on-a-cluster.md").read_text(encoding="utf-8")
    for folder in ("sdk", "engine", "plugins/muntin-stats"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for requirement in project["dependencies"]:
            if not requirement.startswith(("muntin", "pyspark")):
                assert page.count(f"'{requirement}'") >= 2, f"{folder} needs {requirement}"
