"""Running the type checker mypy, and reading from the comments in a file what it must find there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]

_EXPECTED: Final = re.compile(r"# E: (?P<code>\[[a-z-]+\]) (?P<text>.+)$")
_REPORTED: Final = re.compile(r"^(?P<file>.+?):(?P<line>\d+): (?P<kind>error|note): (?P<text>.*)$")


@dataclass(slots=True)
class Complaint:
    """The messages about one line.

    Attributes:
        errors: Errors, each with its code at the end.
        notes: Explanations of the errors.
    """

    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def says(self, code: str, text: str) -> bool:
        """Return whether all errors have a code, and one of them or of the notes has a text."""
        have_code = all(error.endswith(code) for error in self.errors)
        return have_code and text in "\n".join(self.errors + self.notes)


def expected_in(file: Path) -> dict[int, tuple[str, str]]:
    """Return the code and the text that a file's markers ask for, by line."""
    markers: dict[int, tuple[str, str]] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        match = _EXPECTED.search(line)
        if match is not None:
            markers[number] = (match["code"], match["text"])
    return markers


def check_types(files: Iterable[Path], cache: Path, path: Iterable[Path] = ()) -> dict[Path, dict[int, Complaint]]:
    """Return mypy's complaints about files, by file and line, under the strict settings of the repository.

    Args:
        files: Files to check.
        cache: Folder of mypy's cache.
        path: Folders where it looks for modules besides the sources of the repository.
    """
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *map(str, files)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, path))}
    completed = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert completed.returncode in (0, 1), completed.stdout + completed.stderr  # 1 if it finds errors
    return _complaints(completed.stdout)


def _complaints(output: str) -> dict[Path, dict[int, Complaint]]:
    """Read mypy's output, which has a line for each error and each note."""
    complaints: dict[Path, dict[int, Complaint]] = {}
    for line in output.splitlines():
        message = _REPORTED.match(line)
        if message is None:
            continue
        complaints_of_file = complaints.setdefault(ROOT / message["file"], {})
        complaint = complaints_of_file.setdefault(int(message["line"]), Complaint())
        if message["kind"] == "error":
            complaint.errors.append(message["text"])
        else:
            complaint.notes.append(message["text"])
    return complaints
