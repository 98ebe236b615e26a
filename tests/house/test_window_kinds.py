"""No file asks which kind a window is: it asks the window what it has to know.

Counted are uses of the classes of Muntin's own kinds in `isinstance`, `issubclass`, `type(...) is`, `match` and
comparisons, and names of flags that say no more than which kind it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOMES = ("muntin/windows/", "muntin/catalog/named_windows.py")
"""The files in which the kinds of windows live."""


def sources() -> Iterator[Path]:
    """Yield the source files outside of the homes of windows."""
    for folder in ("sdk/src", "engine/src", "cli/src"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            is_home = any(home in file.as_posix() for home in HOMES)
            if not is_home and "template" not in file.parts:
                yield file


SOURCES = list(sources())
SPECIAL = {"HoppingWindows", "SnapshotWindows", "CountWindows"}
OWN = SPECIAL | {
    "SessionWindows",
    "CalendarWindows",
    "CumulateWindows",
    "LandmarkWindows",
    "GlobalWindows",
    "TrailingWindows",
}
KINDS = OWN | {"OWN_KINDS"}
FLAGS = {"boundary_moves", "counts_events", "has_horizon", "is_out_of_order", "is_hopping", "is_snapshot", "is_counted"}
TABLES = {"engine/src/muntin_engine/evaluators/general/fast_assigners.py": SPECIAL}
"""Where a table by class is what the file is for, and its kinds: faster assigners, and the oracle's own definitions."""


def questions(source: str) -> Iterator[str]:
    """Yield the places of a source file that ask which kind a window is."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            parts: list[ast.AST] = list(node.args[1:])
        elif isinstance(node, ast.Compare):
            parts = [node]
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in FLAGS:
                yield f"line {node.lineno}: {name}"
            continue
        else:
            continue
        names: set[str] = set()
        for part in parts:
            names |= names_in(part)
        for name in sorted(names & KINDS):
            yield f"line {node.lineno}: {name}"


def names_in(part: ast.AST) -> set[str]:
    """Return the names and attributes in a part of a source."""
    names: set[str] = set()
    for node in ast.walk(part):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names


def test_no_file_asks_which_kind_a_window_is() -> None:
    assert len(SOURCES) > 200
    places = [file.relative_to(ROOT).as_posix() for file in SOURCES]
    assert set(places) >= set(TABLES)
    mentions: list[str] = []
    for place, file in zip(places, SOURCES, strict=True):
        if place not in TABLES:
            mentions += [f"{place} {question}" for question in questions(file.read_text(encoding="utf-8"))]
    assert mentions == [], "let the window answer: a method or an attribute of WindowKind"


def test_the_tables_name_each_kind_once() -> None:
    for place, kinds in TABLES.items():
        lines = list(questions((ROOT / place).read_text(encoding="utf-8")))
        assert sorted(line.partition(": ")[2] for line in lines) == sorted(kinds)


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(window, HoppingWindows)",
        "isinstance(window, (int, windows.SnapshotWindows))",
        "type(window) is CountWindows",
        "match window:\n    case HoppingWindows(size=size): pass",
        "query.boundary_moves",
        "{SnapshotWindows: 1}",
    ],
)
def test_a_file_that_asks_is_found(source: str) -> None:
    assert len(list(questions(source))) == 1
