"""The changelog of a release is made of fragments, a sentence each, under its kind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from release.distributions import ROOT

KINDS = ("added", "changed", "deprecated", "fixed", "removed", "security")


def test_the_changelog_shows_each_fragment_once_under_its_kind(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "changes").mkdir()
    for kind in KINDS:
        (tmp_path / "changes" / f"windows.{kind}.md").write_text(f"A window is {kind}.\n", encoding="utf-8")
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.8.7", "--dir", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## 9.8.7 - ")
    sentences_by_heading: dict[str, list[str]] = {}
    for section in done.stdout.split("\n### ")[1:]:
        heading, *lines = section.splitlines()
        sentences_by_heading[heading] = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    assert sentences_by_heading == {kind.capitalize(): [f"A window is {kind}."] for kind in KINDS}


def test_the_changelog_says_where_releases_go() -> None:
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("<!-- releases -->\n") == 1


def test_there_are_no_fragments_before_the_first_release() -> None:
    fragments = [file.name for file in (ROOT / "changes").iterdir() if file.name != "README.md"]
    assert fragments == []
    assert "## 0.1.0 - not released yet" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
