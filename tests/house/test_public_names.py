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
    "muntin.progress",
    "muntin.rows",
    "muntin.triggers",
    "muntin.windows",
    "muntin_adapters",
    "muntin_adapters.combinators",
    "muntin_cli",
    "muntin_cli.pictures",
    "muntin_engine",
    "muntin_engine.testing",
)
QUERIES = "muntin_engine.api.query, muntin_engine.api.shipping, muntin_engine.monitoring, muntin_engine.sinks"
LIST = Path(__file__).with_name("public_names.txt")
REGENERATE = ".venv/bin/python tests/house/test_public_names.py"


def public_names() -> list[str]:
    names: list[str] = []
    for package in PACKAGES:
        names += [f"{package}.{name}" for name in sorted(import_module(package).__all__)]
    return names


def test_the_public_names_are_those_checked_in() -> None:
    listed = LIST.read_text(encoding="utf-8").splitlines()
    added = sorted(set(public_names()) - set(listed))
    removed = sorted(set(listed) - set(public_names()))
    assert public_names() == listed, f"added {added}, removed {removed}; if that is meant, run: {REGENERATE}"


def test_a_name_stands_in_one_place_and_the_first_one_has_few() -> None:
    package_of_name: dict[str, str] = {}
    for package in PACKAGES:
        if package.partition(".")[0] != "muntin":
            continue
        for name in import_module(package).__all__:
            assert name not in package_of_name, f"{name} is in {package_of_name[name]} and in {package}"
            package_of_name[name] = package
    assert len(import_module("muntin").__all__) <= 60


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_declares_public_names_and_has_each_of_them(package: str) -> None:
    module = import_module(package)
    assert module.__all__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("packages", "further_packages"),
    [("muntin_adapters, muntin_adapters.combinators", ["pytest", "hypothesis", "muntin_engine"]), (QUERIES, [])],
)
def test_importing_muntin_or_what_makes_queries_loads_neither_spark_nor_arrow_nor_numpy(
    packages: str, further_packages: list[str]
) -> None:
    code = f"import sys, {packages}; print(*sorted(name for name in sys.argv[1:] if name in sys.modules))"
    heavy = ["pyspark", "py4j", "pyarrow", "numpy", "pandas", *further_packages]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_the_process_that_spark_starts_for_each_stateful_operator_imports_neither_the_sdk_nor_arrow() -> None:
    imported = "sorted({'muntin', 'numpy', 'pyarrow'} & set(sys.modules))"
    code = f"import sys, muntin_engine.backends.spark.operators.bucket_processor\nprint(*{imported})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_name_that_the_engine_does_not_have_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'muntin_engine' has no attribute 'locl_session'"):
        assert import_module("muntin_engine").locl_session


def test_importing_what_tests_restarts_does_not_load_spark() -> None:
    code = "import sys, muntin_engine.testing; print(*sorted({'pyspark', 'py4j'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in public_names()), encoding="utf-8")
