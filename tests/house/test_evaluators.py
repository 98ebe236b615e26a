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
EVALUATORS = SOURCES[0] / "evaluators"
REGISTRY = SOURCES[0] / "tasks/evaluator_registry.py"

NAMES = {declaration.name for declaration in DECLARATIONS}
FOLDERS = {type(evaluator).__module__.split(".")[2] for evaluator in KEEPS_STATE.values()}
"""The folders in `evaluators` that have an evaluator which keeps a state."""

PACKAGES = tuple(f"muntin_engine.evaluators.{folder}." for folder in FOLDERS)


def files_outside_of_evaluators() -> Iterator[Path]:
    """Yield the source files that are neither in the folder of evaluators nor the registry."""
    for source in SOURCES:
        for file in sorted(source.rglob("*.py")):
            if EVALUATORS not in file.parents and file != REGISTRY:
                yield file


FILES = list(files_outside_of_evaluators())


def questions(source: str) -> Iterator[str]:
    """Yield where a file tells evaluators apart: by their names, or by importing one of them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield f"line {node.lineno} says {node.value!r}"
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if f"{name}.".startswith(PACKAGES):
                    yield f"line {node.lineno} imports {name}"


def test_no_file_outside_of_the_evaluators_asks_which_one_runs_a_query() -> None:
    places: list[str] = []
    for file in FILES:
        path = file.relative_to(ROOT).as_posix()
        places += [f"{path}: {question}" for question in questions(file.read_text(encoding="utf-8"))]
    assert places == []


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
def test_a_file_that_asks_is_found(source: str) -> None:
    assert len(list(questions(source))) == 1


def test_each_evaluator_has_a_name_of_its_own_and_lies_in_a_folder() -> None:
    assert len(FILES) > 100
    assert len(NAMES) == len(DECLARATIONS) >= 3
    folders = {file.parent.name for file in EVALUATORS.glob("*/*evaluator.py")}
    assert folders - {"keyed"} == FOLDERS  # which has the base of others


def test_what_an_evaluator_declares_is_what_the_registry_has_of_it() -> None:
    assert {declaration.name for declaration in DECLARATIONS if declaration.keeps_state} == {*KEEPS_STATE}
    assert {declaration.name for declaration in DECLARATIONS if not declaration.keeps_state} == {*ANSWERS_AT_ONCE}
    assert {declaration.name for declaration in DECLARATIONS if declaration.lifts} == {*LIFTS_ROWS}


def test_each_combination_of_parts_on_arrays_has_words_that_explain_it() -> None:
    assert {*WORDS} == {*COMBINATIONS}


def modules_after(program: str) -> set[str]:
    """Return the modules that a process has imported after a program."""
    command = [sys.executable, "-c", f"import sys\n{program}\nprint(*sys.modules)"]
    return set(subprocess.check_output(command, text=True).split())


def test_queries_are_planned_without_numpy_and_arrow() -> None:
    modules = modules_after("import muntin_engine.evaluators.declarations, muntin_engine.plan.planner")
    assert modules.isdisjoint({"numpy", "pyarrow"})


def test_a_task_waits_for_the_imports_of_its_own_evaluator_alone() -> None:
    import_registry = "from muntin_engine.tasks.evaluator_registry import ANSWERS_AT_ONCE, KEEPS_STATE\n"
    arrays = {
        "muntin_engine.evaluators.arrays.machine",
        "muntin_engine.evaluators.arrays.values.sliding_windows",
    }
    other_evaluators = {
        "muntin_engine.evaluators.general.general_run",
        "muntin_engine.evaluators.joins.join_run",
        "muntin_engine.evaluators.joins.pair_machine",
    }
    with_arrays = modules_after(import_registry + "KEEPS_STATE['columnar']")
    assert arrays <= with_arrays
    assert other_evaluators.isdisjoint(with_arrays)

    with_all = modules_after(import_registry + "list(KEEPS_STATE.values()), list(ANSWERS_AT_ONCE.values())")
    assert other_evaluators | {"muntin_engine.evaluators.ordered.row_aggregates"} <= with_all
