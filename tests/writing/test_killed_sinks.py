"""Processes that write to each sink are killed at random, and nothing is lost or doubled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from muntin_engine.testing.sink_stream import changed_columns, expected
from tests.writing.killed_sink import rows_in
from tests.writing.s3_server import address_of, running_s3

KILLS: Final = int(os.environ.get("MUNTIN_KILLS", "1"))
ROOT: Final = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with running_s3() as options:
        yield options


@pytest.mark.parametrize("kind", ["folder", "s3", "delta", "delta-merged", "iceberg", "iceberg-merged"])
def test_a_sink_whose_process_is_killed_has_each_row_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    random, changes = Random(kind), kind.endswith("-merged")
    place = address_of("killed", request.getfixturevalue("s3")) if kind == "s3" else str(tmp_path / "place")
    progress = tmp_path / "progress"
    done = -1
    for _ in range(KILLS):
        _kill(kind, place, progress, lambda: random.uniform(0, 0.3))
        done = max(done, _done(progress))
    assert done > KILLS, "else it never got anywhere"
    found = Counter(map(str, _rows(kind, place, changes)))
    whole = [Counter(map(str, expected(range(number + 1), changes=changes))) for number in (done, done + 1)]
    assert found in whole, f"missing {whole[0] - found}, too many {found - whole[1]}"
    sys.stdout.write(f"{kind}: {KILLS} kills, {done + 1} micro-batches, {found.total()} rows\n")


def _rows(kind: str, place: str, changes: bool) -> list[dict[str, object]]:
    names = changed_columns(changes=changes, wider=False)
    return [{name: row[name] for name in names} for row in rows_in(kind, place).to_pylist()]


def _done(progress: Path) -> int:
    return int(progress.read_text()) if progress.exists() else -1


def _kill(kind: str, place: str, progress: Path, moment: Callable[[], float]) -> None:
    """Start a process that goes on, and kill it a moment after it has begun, once it has done a micro-batch."""
    before, until = _done(progress), time.monotonic() + 120
    command = [sys.executable, "-m", "tests.writing.killed_sink", kind, place, str(progress)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = process.stdout.readline()
            assert said, process.stderr.read().decode()[-4000:]
            while _done(progress) < before + 2 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(moment())
            assert process.poll() is None, process.stderr.read().decode()[-4000:]
        finally:
            process.kill()
