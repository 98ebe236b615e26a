"""The page on compatibility says what the distributions ask for."""

from __future__ import annotations

import re
import tomllib

import pytest

from muntin_engine.spark.session.java import OLDEST
from tests.docs.pages import DOCS, ROOT

PAGE = (DOCS / "compatibility.md").read_text(encoding="utf-8")
PROJECTS = {
    name: tomllib.loads((ROOT / name / "pyproject.toml").read_text("utf-8"))["project"] for name in ("sdk", "engine")
}
NEEDED = [
    re.fullmatch(r"(?P<name>[\w-]+)(?P<versions>.*)", needed)
    for project in PROJECTS.values()
    for needed in project["dependencies"]
    if not needed.startswith("muntin")
]


@pytest.mark.parametrize("needed", NEEDED, ids=lambda needed: needed["name"])
def test_what_a_distribution_needs_is_in_the_table(needed: re.Match[str]) -> None:
    assert f"| `{needed['name']}` | `{needed['versions']}` |" in PAGE


def test_the_table_has_nothing_else() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \| `[<>=]", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted({needed["name"] for needed in NEEDED if needed})


def test_the_oldest_python_and_java_are_in_the_table() -> None:
    for project in PROJECTS.values():
        assert f"| Python | `{project['requires-python']}`," in PAGE
    assert f"| Java | {OLDEST} or newer," in PAGE
