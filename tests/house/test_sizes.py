"""A file is one concept: none has more than 400 lines, tests and benchmarks included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("sdk", "engine", "cli", "plugins", "demo", "benchmarks", "tests", "docs")
MOST_LINES = 400


def longer_files(*folders: Path) -> Iterator[str]:
    """Yield the names of the files in some folders that have more lines, and how many."""
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            if lines > MOST_LINES:
                yield f"{file.name}: {lines}"


def test_no_file_is_longer() -> None:
    folders = [ROOT / name for name in FOLDERS]
    assert all(folder.is_dir() for folder in folders)
    assert list(longer_files(*folders)) == []


def test_a_longer_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "short.py").write_text("x = 1\n" * MOST_LINES)
    (tmp_path / "long.py").write_text("x = 1\n" * (MOST_LINES + 1))
    assert list(longer_files(tmp_path)) == ["long.py: 401"]
