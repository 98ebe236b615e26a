"""The public names, checked in: changing one shows in review.

Run this file (`.venv/bin/python tests/house/test_public_names.py`) to write the list anew.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PACKAGES = (
    "muntin",
    "muntin.catalog",
    "muntin.changes",
    "muntin.drawings",
    "muntin.errors",
    "muntin.pictures",
    "muntin.progress",
    "muntin.rows",
    "muntin.triggers",
    "muntin.windows",
    "muntin_adapters",
    "muntin_adapters.combinators",
    "muntin_cli",
    "muntin_engine",
    "muntin_engine.testing",
)
QUERIES = "muntin_engine.api.query, muntin_engine.api.shipping, muntin_engine.monitoring, muntin_engine.sinks"
LIST = Path(__file__).with_name("public_names.txt")
REGENERATE = ".venv/bin/python tests/house/test_public_names.py"


def public_names() -> list[str]:
    """Return the public names of all packages, each after its package."""
    names: list[str] = []
    for package in PACKAGES:
        names += [f"{package}.{name}" for name in sorted(import_module(package).__all__)]
    return names


def test_the_public_names_are_those_checked_in() -> None:
    listed = LIST.read_text(encoding="utf-8").splitlines()
    names = public_names()
    added = sorted(set(names) - set(listed))
    removed = sorted(set(listed) - set(names))
    assert names == listed, f"added {added}, removed {removed}; if that is meant, run: {REGENERATE}"


def test_a_public_name_of_the_sdk_is_in_one_package() -> None:
    package_of_name: dict[str, str] = {}
    for package in PACKAGES:
        if package.partition(".")[0] != "muntin":
            continue
        for name in import_module(package).__all__:
            assert name not in package_of_name, f"{name} is in {package_of_name[name]} and in {package}"
            package_of_name[name] = package


def test_the_package_muntin_itself_has_few_names() -> None:
    assert len(import_module("muntin").__all__) <= 60


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_declares_public_names_and_has_each_of_them(package: str) -> None:
    module = import_module(package)
    assert module.__all__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def modules_after_import(packages: str) -> set[str]:
    """Return the modules that a process has imported after importing some packages, which are separated by commas."""
    command = [sys.executable, "-c", f"import sys, {packages}; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


HEAVY = {"pyspark", "py4j", "pyarrow", "numpy", "pandas"}


def test_importing_muntin_with_its_adapters_loads_neither_spark_nor_arrow_nor_numpy_nor_the_engine() -> None:
    modules = modules_after_import("muntin_adapters, muntin_adapters.combinators")
    assert "muntin" in modules
    assert modules & {*HEAVY, "pytest", "hypothesis", "muntin_engine"} == set()


def test_importing_what_makes_queries_loads_neither_spark_nor_arrow_nor_numpy() -> None:
    assert modules_after_import(QUERIES) & HEAVY == set()


def test_the_process_that_spark_starts_for_each_stateful_operator_imports_neither_the_sdk_nor_arrow() -> None:
    modules = modules_after_import("muntin_engine.backends.spark.operators.bucket_processor")
    assert modules & {"muntin", "numpy", "pyarrow"} == set()


def test_a_name_that_the_engine_does_not_have_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'muntin_engine' has no attribute 'locl_session'"):
        assert import_module("muntin_engine").locl_session


def test_importing_what_tests_restarts_does_not_load_spark() -> None:
    assert modules_after_import("muntin_engine.testing") & {"pyspark", "py4j"} == set()


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in public_names()), encoding="utf-8")
