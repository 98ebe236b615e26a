"""No file asks which kind a window is: it asks the window what it has to know.

Counted are uses of the classes of Muntin's own kinds in `isinstance`, `issubclass`, `type(...) is`, `match` and
comparisons, and names of flags that say no more than which kind it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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

WITH_FAST_ASSIGNERS = {"HoppingWindows", "SnapshotWindows", "CountWindows"}
KINDS = WITH_FAST_ASSIGNERS | {
    "SessionWindows",
    "CalendarWindows",
    "CumulateWindows",
    "LandmarkWindows",
    "GlobalWindows",
    "TrailingWindows",
    "OWN_KINDS",
}
"""The classes of Muntin's own kinds of windows, and the tuple of them."""

FLAGS = {"boundary_moves", "counts_events", "has_horizon", "is_out_of_order", "is_hopping", "is_snapshot", "is_counted"}
"""Names of flags that would say no more than which kind a window is."""

TABLES = {"engine/src/muntin_engine/evaluators/general/fast_assigners.py": WITH_FAST_ASSIGNERS}
"""The files whose purpose is a table by class, and the kinds in it."""


def questions(source: str) -> Iterator[str]:
    """Yield the places of a source file that ask which kind a window is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute | ast.Name):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in FLAGS:
                yield f"line {node.lineno}: {name}"
            continue

        names: set[str] = set()
        for part in parts_that_ask(node):
            names |= names_in(part)
        for name in sorted(names & KINDS):
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


def parts_that_ask(node: ast.AST) -> Sequence[ast.AST]:
    """Return the parts of a statement or an expression in which a class would ask for the kind of something."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            return node.args[1:]
        case ast.Compare():
            return [node]
        case ast.MatchClass():
            return [node.cls]
        case ast.Dict():
            return [key for key in node.keys if key is not None]
    return []


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
    mentions: list[str] = []
    for file in SOURCES:
        path = file.relative_to(ROOT).as_posix()
        if path not in TABLES:
            mentions += [f"{path} {question}" for question in questions(file.read_text(encoding="utf-8"))]
    assert mentions == [], "let the window answer: a method or an attribute of WindowKind"


@pytest.mark.parametrize("path", TABLES)
def test_a_table_by_class_names_each_of_its_kinds_once(path: str) -> None:
    assert ROOT / path in SOURCES
    lines = list(questions((ROOT / path).read_text(encoding="utf-8")))
    assert sorted(line.partition(": ")[2] for line in lines) == sorted(TABLES[path])


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
