"""The changelog is made of the fragments: each has a kind and a text, and `make changelog` shows them all."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from release.distributions import ROOT

KINDS = ("added", "changed", "deprecated", "fixed", "removed", "security")
FRAGMENTS = [file for file in sorted((ROOT / "changes").iterdir()) if file.name != "README.md"]


@pytest.fixture(scope="module")
def draft() -> str:
    """The text that a release adds to the changelog."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.8.7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fragment_has_a_kind_that_the_changelog_knows() -> None:
    names = re.compile(rf"[a-z0-9_-]+\.({'|'.join(KINDS)})\.md")
    assert [file.name for file in FRAGMENTS if not names.fullmatch(file.name)] == []


def test_a_fragment_is_one_line_that_ends_as_a_sentence() -> None:
    texts = {file.name: file.read_text(encoding="utf-8") for file in FRAGMENTS}
    assert [name for name, text in texts.items() if text.count("\n") != 1 or not text.endswith(".\n")] == []


def test_the_changelog_shows_each_fragment_once_under_its_kind(draft: str) -> None:
    assert draft.startswith("## 9.8.7 - ")
    parts = dict(zip(*[iter(re.split(r"^### (\w+)\n", draft, flags=re.MULTILINE)[1:])] * 2, strict=True))
    shown = {kind: {line[2:] for line in part.splitlines() if line.startswith("- ")} for kind, part in parts.items()}
    written: dict[str, set[str]] = {}
    for file in FRAGMENTS:
        written.setdefault(file.name.split(".")[-2].capitalize(), set()).add(file.read_text(encoding="utf-8").strip())
    assert shown == written


def test_the_changelog_says_where_releases_go() -> None:
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("<!-- releases -->\n") == 1
