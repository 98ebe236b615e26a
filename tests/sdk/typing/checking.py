"""Running the type checker, and what a file says that it must find."""

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
        """Return whether the errors have a code, and they or their notes hold a text."""
        return all(error.endswith(code) for error in self.errors) and text in "\n".join(self.errors + self.notes)


def expected_in(file: Path) -> dict[int, tuple[str, str]]:
    """Return the code and the text that a file's markers ask for, by line."""
    markers: dict[int, tuple[str, str]] = {}
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        match = _EXPECTED.search(line)
        if match is not None:
            markers[number] = (match["code"], match["text"])
    return markers


def check_types(files: Iterable[Path], cache: Path, path: Iterable[Path] = ()) -> dict[Path, dict[int, Complaint]]:
    """Return the complaints about files, by file and line, under the strict settings of the repository.

    Args:
        files: The files.
        cache: The folder of the type checker's cache.
        path: The folders where it looks for modules besides the sources of the repository.
    """
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), *map(str, files)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return _complaints(done.stdout)


def _complaints(output: str) -> dict[Path, dict[int, Complaint]]:
    complaints: dict[Path, dict[int, Complaint]] = {}
    for line in output.splitlines():
        reported = _REPORTED.match(line)
        if reported:
            about = complaints.setdefault(ROOT / reported["file"], {}).setdefault(int(reported["line"]), Complaint())
            (about.errors if reported["kind"] == "error" else about.notes).append(reported["text"])
    return complaints
