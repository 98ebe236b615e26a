"""`muntin checkpoint copy`. What a copy is, and what is refused: tests/engine/sinks/test_checkpoint_copy.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import CommandRun, Run


def write_files(folder: Path, contents: Mapping[str, str]) -> None:
    """Write files by their paths in a folder."""
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint after micro-batch 3, of a query that writes results and late rows to folders beside it."""
    record = {"destinations": [str(tmp_path / "late"), str(tmp_path / "results")]}
    files = {"metadata": "{}", "commits/3": "v1", "muntin/0/part-0.txt": json.dumps(record)}
    write_files(tmp_path / "checkpoint", files)
    write_files(tmp_path / "results", {"batch=3/part-0.parquet": "rows"})
    return tmp_path / "checkpoint"


def test_a_checkpoint_is_copied_with_a_folder_and_it_is_said_where_it_goes_on(
    muntin: Run, checkpoint: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    folder = f"--folder={tmp_path}/results={tmp_path}/copied"
    expected = (
        f"copied 3 files to {copy}, up to micro-batch 3\n"
        f"its query goes on in {tmp_path}/copied, or in another place that you name\n"
        f"its query goes on in {tmp_path}/late, or in another place that you name\n"
    )
    assert muntin("checkpoint", "copy", checkpoint, copy, folder) == CommandRun(0, expected, "")
    assert (tmp_path / "copied/batch=3/part-0.parquet").read_text() == "rows"


def test_a_copy_into_a_folder_that_is_not_empty_is_refused(muntin: Run, checkpoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    muntin("checkpoint", "copy", checkpoint, copy)
    again = muntin("checkpoint", "copy", checkpoint, copy)
    assert (again.code, again.output) == (2, "")
    assert again.errors.startswith(f"muntin: {copy} is not empty\n")


def test_a_folder_without_the_place_of_its_copy_is_refused(muntin: Run, checkpoint: Path, tmp_path: Path) -> None:
    done = muntin("checkpoint", "copy", checkpoint, tmp_path / "copy", "--folder", "results")
    expected = "muntin: --folder results names no copy\n  write --folder /data/results=/copies/results\n"
    assert (done.code, done.errors) == (2, expected)


def test_a_copy_that_was_cut_short_is_not_copied(muntin: Run, checkpoint: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    muntin("checkpoint", "copy", checkpoint, copy)
    write_files(copy, {"muntin/copying/begun": ""})  # which a copy removes when it ends
    done = muntin("checkpoint", "copy", copy, tmp_path / "second-copy")
    assert done.code == 2
    assert "is a copy that was cut short" in done.errors
