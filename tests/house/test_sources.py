"""One name for one thing: no two classes of the SDK, the engine or the command are called the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {
    str(file.relative_to(ROOT)): file.read_text(encoding="utf-8")
    for folder in ("sdk/src", "engine/src", "cli/src")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "template" not in file.parts
}
THE_ORACLES_OWN = {"Computation", "WindowedQuery"}
"""Names that module writers know from `muntin.testing`; the engine has others."""


def classes_of_one_name(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the files of the classes that share a name, by that name; an underscore before it makes no other."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


def test_no_two_classes_have_one_name() -> None:
    assert len(SOURCES) > 400
    assert classes_of_one_name(SOURCES) == {}


def test_the_engine_has_other_names_than_the_oracle() -> None:
    for file, source in SOURCES.items():
        if file.startswith("engine/"):
            named = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}
            assert not named & THE_ORACLES_OWN, file


def test_two_classes_of_one_name_are_found() -> None:
    sources = {"a.py": "class Line: ...", "b.py": "class _Line: ...\nclass Other: ...", "c.py": "x = 1"}
    assert classes_of_one_name(sources) == {"Line": ["a.py", "b.py"]}
