"""`muntin checkpoint copy`. What a copy is, and what is refused: tests/engine/sinks/test_checkpoint_copy.py."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import CommandRun, Run


def test_a_checkpoint_is_copied_with_a_folder_and_it_is_said_where_it_goes_on(muntin: Run, tmp_path: Path) -> None:
    record = {"destinations": [str(tmp_path / "late"), str(tmp_path / "results")]}
    for name, content in {
        "checkpoint/metadata": "{}",
        "checkpoint/commits/3": "v1",
        "checkpoint/muntin/0/part-0.txt": json.dumps(record),
        "results/batch=3/part-0.parquet": "rows",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    checkpoint = str(tmp_path / "checkpoint")
    copy = str(tmp_path / "copy")
    folder = f"--folder={tmp_path}/results={tmp_path}/copied"
    expected = (
        f"copied 3 files to {copy}, up to micro-batch 3\n"
        f"its query goes on in {tmp_path}/copied, or in another place that you name\n"
        f"its query goes on in {tmp_path}/late, or in another place that you name\n"
    )
    assert muntin("checkpoint", "copy", checkpoint, copy, folder) == CommandRun(0, expected, "")
    assert (tmp_path / "copied/batch=3/part-0.parquet").read_text() == "rows"

    again = muntin("checkpoint", "copy", checkpoint, copy)
    assert (again.code, again.output) == (2, "")
    assert again.errors.startswith(f"muntin: {copy} is not empty\n")
    wrong = muntin("checkpoint", "copy", checkpoint, f"{copy}2", "--folder", "results")
    assert (wrong.code, wrong.errors) == (
        2,
        "muntin: --folder results names no copy\n  write --folder /data/results=/copies/results\n",
    )
    (tmp_path / "copy/muntin/copying").mkdir()
    (tmp_path / "copy/muntin/copying/begun").write_text("")
    partial = muntin("checkpoint", "copy", copy, f"{copy}2")
    assert partial.code == 2
    assert "is a copy that was cut short" in partial.errors
