"""`make quick` finds no Java, leaves out what is listed with a reason, and has tests of every room."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quick_choice import LEFT_OUT, ROOT, is_quick, uses_spark

TESTS = sorted(ROOT.glob("tests/**/test_*.py"))
SOURCES = (ROOT / "sdk/src", ROOT / "engine/src", ROOT / "cli/src", *sorted(ROOT.glob("plugins/*/src")))


def rooms() -> Iterator[str]:
    """Yield the packages, and those in them; a deeper one is tested through its room: evaluators by their contract."""
    for source in SOURCES:
        for file in sorted([*source.glob("*/__init__.py"), *source.glob("*/*/__init__.py")]):
            if "template" not in file.parts:  # a copy of it is tested under the name that it gets
                yield ".".join(file.parent.relative_to(source).parts)


ROOMS = list(rooms())
NOT_QUICK = {
    "muntin_cli.checking": "runs the laws and a worker of a package, in programs",
    "muntin_cli.probes": "programs in a Python of their own, which `muntin check` starts",
}
"""Rooms that only tests run which take long, and why."""
STARTS_SPARK = """
import subprocess, sys
from pathlib import Path
from tests.quick_choice import hide_java

hide_java(Path(sys.argv[1]))
program = "from muntin_engine import local_session; local_session()"
sys.exit(subprocess.run([sys.executable, "-c", program]).returncode)
"""


def imports_of(file: Path) -> set[str]:
    """Return the names that a file imports, each with the packages that it lies in."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    with_packages: set[str] = set()
    for name in names:
        parts = name.split(".")
        with_packages.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return with_packages


@pytest.fixture(scope="module")
def tested_modules() -> set[str]:
    """The modules that the tests of `make quick` import."""
    quick_tests = [file for file in TESTS if is_quick(file)]
    assert len(quick_tests) > 100
    return set().union(*map(imports_of, quick_tests))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_quick_tests_or_a_reason_for_which_it_has_none(room: str, tested_modules: set[str]) -> None:
    has_quick_tests = room in tested_modules
    has_reason = room in NOT_QUICK
    assert has_quick_tests != has_reason


def test_no_test_of_the_spark_session_is_quick() -> None:
    with_spark = [file for file in TESTS if uses_spark(file.relative_to(ROOT).as_posix())]
    assert len(with_spark) > 50
    assert [file for file in with_spark if is_quick(file)] == []


@pytest.mark.parametrize("start_of_path", LEFT_OUT)
def test_what_is_left_out_exists_and_would_else_be_quick(start_of_path: str) -> None:
    paths = [file.relative_to(ROOT).as_posix() for file in TESTS]
    assert [path for path in paths if path.startswith(start_of_path) and not uses_spark(path)]


def test_a_program_of_a_quick_test_cannot_start_spark(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_SPARK, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "JavaNotFoundError" in done.stderr


def collected_tests(*arguments: str) -> set[str]:
    """Return the names of the tests that a run of pytest with these arguments would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_a_quick_run_has_the_first_seed_of_each_test() -> None:
    file = "tests/scenarios/test_one_pass.py"
    all_tests = collected_tests(file)
    quick_tests = collected_tests("--quick", file)
    assert quick_tests < all_tests
    tests_with_seeds = {name for name in all_tests if name.endswith("]")}
    assert len(tests_with_seeds) > 1
    assert quick_tests & tests_with_seeds == {min(tests_with_seeds)}


def test_make_quick_runs_ruff_and_a_quick_pytest() -> None:
    command = ["make", "--dry-run", "--assume-old=.venv/tools.stamp", "quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    commands = [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith(".venv/bin/")]
    assert commands[:2] == ["check", "format --check"]
    assert commands[2].startswith("-m pytest ")
    assert "--quick" in commands[2].split()
