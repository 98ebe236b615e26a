"""The page says which versions tests were run on, and the quick part is of tests that there are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.versions.environments import ENVIRONMENTS, QUICK, SPARK, python_of
from tests.versions.record import PAGE, ROOT, Run, read_runs, table


def test_the_page_has_the_runs_that_were_recorded_and_all_passed() -> None:
    runs = read_runs()
    assert table(runs) in PAGE.read_text(encoding="utf-8")
    assert {run.environment for run in runs} <= set(ENVIRONMENTS)
    assert {run.versions["pyspark"][:3] for run in runs} == {"4.1", "4.2", "4.3"}
    assert [run for run in runs if run.failed or not run.passed] == []


def test_a_row_of_the_table_has_versions_counts_and_day() -> None:
    versions = dict.fromkeys(("pyspark", "python", "java", "pandas", "pyarrow", "numpy", "protobuf"), "1.2")
    line = table([Run("4.1", "quick", "2026-01-31", versions, passed=30, skipped=0, failed=2)]).splitlines()[-1]
    assert line == f"| {'1.2 | ' * 7}quick: 30 passed, 2 failed | 2026-01-31 |"


@pytest.mark.parametrize("named", [*QUICK, *SPARK])
def test_what_is_run_elsewhere_is_a_test(named: str) -> None:
    file, _, test = named.partition("::")
    assert (ROOT / file).exists()
    assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_python_is_found_by_what_it_says_it_is(tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    liar = tmp_path / "python2.9"
    liar.write_text("#!/bin/sh\necho 3.0\n", encoding="utf-8")
    liar.chmod(0o755)
    assert python_of(version, {"PATH": str(Path(sys.executable).parent)})
    assert python_of("2.9", {"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None
