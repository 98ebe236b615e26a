"""Python programs in processes of their own, which see installed packages only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muntin_cli.errors import EnvironmentLacksError

_ANSWER = "answer: "
"""The beginning of the line with an answer. Programs end the line before it: a module may have left it open."""

_PATIENCE = 120.0
"""The seconds after which a program is given up."""


def ask_python(program: Path, question: object, python: str = sys.executable) -> Any:
    """Run a program that reads a question as JSON and answers in JSON, in an empty folder that is not on its path.

    Args:
        program: Python file that imports nothing of ours. Of the lines that it prints, the last one that begins with
            `answer: ` is its answer; modules that it imports may print anything, also when it ends.
        question: Value that the program reads from its standard input.
        python: Python that runs the program.

    Raises:
        EnvironmentLacksError: The program does not run, or does not answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        # With -P the folder of the program is not on its path, so that nothing beside it is imported by accident.
        process = run([python, "-P", str(program)], folder, json.dumps(question))
    answers = [line.removeprefix(_ANSWER) for line in process.stdout.splitlines() if line.startswith(_ANSWER)]
    if process.returncode != 0 or not answers:
        last_line = (process.stderr.strip() or "it printed nothing").splitlines()[-1]
        raise EnvironmentLacksError(
            f"{python} could not run {program.name}: {last_line}\n  expected: a Python 3.11 or newer"
        )
    return json.loads(answers[-1])


def run(
    command: Sequence[str], folder: str, text: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and return its exit code and output.

    Args:
        command: Program and its arguments.
        folder: Working directory.
        text: Standard input.
        environment: Variables in addition to those of this process.

    Raises:
        EnvironmentLacksError: The command cannot be started, or does not end in time.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            input=text,
            # Nothing is left behind in the folders of the packages that a program imports.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentLacksError(f"{command[0]} does not run: {error}\n  expected: a working program") from error


def worker_python() -> str:
    """Return the Python that Spark starts its workers with."""
    return os.environ.get("PYSPARK_PYTHON") or sys.executable
