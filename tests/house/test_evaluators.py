"""The engine never asks which evaluator runs a query; what each declares is true of what runs it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.evaluators.declarations.arrays import WORDS
from muntin_engine.evaluators.declarations.combinations import COMBINATIONS
from muntin_engine.tasks.evaluator_registry import ANSWERS_AT_ONCE, KEEPS_STATE, LIFTS_ROWS

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "engine/src/muntin_engine", ROOT / "cli/src/muntin_cli"]
FOLDER = SOURCES[0] / "evaluators"
NAMES = {declaration.name for declaration in DECLARATIONS}
FOLDERS = {type(evaluator).__module__.split(".")[2] for evaluator in KEEPS_STATE.values()}
REGISTRY = SOURCES[0] / "tasks/evaluator_registry.py"


def files_outside(folder: Path) -> Iterator[Path]:
    """Yield the source files that are neither in a folder nor the registry."""
    for source in SOURCES:
        for file in sorted(source.rglob("*.py")):
            if folder not in file.parents and file != REGISTRY:
                yield file


FILES = list(files_outside(FOLDER))


def questions(source: str) -> Iterator[str]:
    """Yield where a file tells evaluators apart: by their names, their classes, or by importing one of them."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield f"line {node.lineno} says {node.value!r}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}".split(".") for alias in node.names]
            engine_names = [
                name for name in names if name[:2] == ["muntin_engine", "evaluators"] and name[2] in FOLDERS
            ]
            yield from (f"line {node.lineno} imports {'.'.join(name)}" for name in engine_names)


def test_nobody_asks_which_evaluator_it_is() -> None:
    asked: list[str] = []
    for file in FILES:
        path = file.relative_to(ROOT).as_posix()
        asked += [f"{path}: {question}" for question in questions(file.read_text(encoding="utf-8"))]
    assert asked == []


@pytest.mark.parametrize(
    "source",
    [
        "if task.evaluator == 'columnar': pass",
        "match plan.choice.evaluator:\n    case 'general': pass",
        "from muntin_engine.evaluators.general.general_evaluator import GeneralEvaluator",
        "def late():\n    from muntin_engine.evaluators.arrays import processing",
        "from muntin_engine.evaluators import arrays",
    ],
)
def test_whoever_asks_is_found(source: str) -> None:
    assert len(list(questions(source))) == 1


def test_each_evaluator_has_a_name_of_its_own_and_lies_in_a_folder() -> None:
    assert len(FILES) > 100
    assert len(NAMES) == len(DECLARATIONS) >= 3
    with_evaluators = {file.parent.name for file in FOLDER.glob("*/*evaluator.py")}
    assert with_evaluators - {"keyed"} == FOLDERS  # that one has the base of others


def test_what_an_evaluator_declares_is_what_the_registry_has_of_it() -> None:
    assert {declaration.name for declaration in DECLARATIONS if declaration.keeps_state} == {*KEEPS_STATE}
    assert {declaration.name for declaration in DECLARATIONS if not declaration.keeps_state} == {*ANSWERS_AT_ONCE}
    assert {declaration.name for declaration in DECLARATIONS if declaration.lifts} == {*LIFTS_ROWS}


def test_each_combination_of_parts_is_explained() -> None:
    assert {*WORDS} == {*COMBINATIONS}


def test_declarations_load_no_arrays_and_the_registry_loads_the_evaluators_that_are_asked_for() -> None:
    """Queries are planned without NumPy and Arrow; a task waits for the imports of its own evaluator alone."""
    program = (
        "import sys\n"
        "import muntin_engine.evaluators.declarations, muntin_engine.plan.planner\n"
        "print('numpy' in sys.modules, 'pyarrow' in sys.modules)\n"
        "from muntin_engine.tasks.evaluator_registry import ANSWERS_AT_ONCE, KEEPS_STATE\n"
        "KEEPS_STATE['columnar']\n"
        "print(*sys.modules)\n"
        "list(KEEPS_STATE.values()), list(ANSWERS_AT_ONCE.values())\n"
        "print(*sys.modules)"
    )
    lines = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    while_planning, with_arrays, with_all = (set(line.split()) for line in lines)
    arrays = {f"muntin_engine.evaluators.arrays.{name}" for name in ("machine", "values.sliding_windows")}
    others = {
        f"muntin_engine.evaluators.{name}" for name in ("general.general_run", "joins.join_run", "joins.pair_machine")
    }
    assert while_planning == {"False"}
    assert arrays <= with_arrays
    assert others.isdisjoint(with_arrays)
    assert others | {"muntin_engine.evaluators.ordered.row_aggregates"} <= with_all
