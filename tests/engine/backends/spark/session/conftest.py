"""Run a Python program in a process of its own, where it may start and stop Spark as it likes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program that lies beside the tests of this folder, and return what became of it."""

    def run(
        program: str, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(Path(__file__).with_name(program)), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)

    return run
