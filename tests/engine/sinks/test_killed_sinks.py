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

import psycopg
import pytest

from muntin_engine.testing.sink_stream import compared_columns, expected_rows
from tests.engine.sinks.kafka_brokers import brokers
from tests.engine.sinks.killed_sink import rows_in
from tests.engine.sinks.postgresql_server import running_server
from tests.engine.sinks.s3_server import address_of, running_s3

KILLS: Final = int(os.environ.get("MUNTIN_KILLS", "1"))
ROOT: Final = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with running_s3() as options:
        yield options


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(scope="module")
def kafka() -> Iterator[str]:
    with brokers() as servers:
        yield servers


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "kind",
    [
        *("folder", "s3", "delta", "delta-merged", "iceberg", "iceberg-merged"),
        *("sqlite", "sqlite-merged", "postgresql", "postgresql-merged", "kafka"),
    ],
)
def test_a_sink_whose_process_is_killed_has_each_row_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    random = Random(kind)
    changes = kind.endswith("-merged")
    place = _place(kind, tmp_path, request)
    progress = tmp_path / "progress"
    done = -1
    for _ in range(KILLS):
        _kill(kind, place, progress, lambda: random.uniform(0, 0.3))
        done = max(done, _last_done_batch(progress))
    assert done >= 2 * KILLS - 1, "each process does two micro-batches at the least"
    rows = Counter(map(str, _rows(kind, place, changes)))
    least = Counter(map(str, expected_rows(range(done + 1), changes=changes)))
    most = Counter(map(str, expected_rows(range(done + 2), changes=changes)))  # the process died before it could say so
    is_in_parts = kind == "kafka" and least <= rows <= most  # readers see messages one by one
    assert rows in (least, most) or is_in_parts, f"missing {least - rows}, too many {rows - most}"
    sys.stdout.write(f"{kind}: {KILLS} kills, {done + 1} micro-batches, {rows.total()} rows\n")


def _place(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "s3":
        return address_of("killed", request.getfixturevalue("s3"))
    if kind.startswith("sqlite"):
        return f"sqlite:{folder}/place.db?table=hours"
    if kind.startswith("postgresql"):
        address = request.getfixturevalue("postgresql")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS hours, muntin_batches")
        return f"{address}&table=hours"
    return f"kafka://{request.getfixturevalue('kafka')}/hours" if kind == "kafka" else str(folder / "place")


def _rows(kind: str, place: str, changes: bool) -> list[dict[str, object]]:
    names = compared_columns(changes=changes, has_new_column=False)
    return [{name: row[name] for name in names} for row in rows_in(kind, place).to_pylist()]


def _last_done_batch(progress: Path) -> int:
    return int(progress.read_text()) if progress.exists() else -1


def _kill(kind: str, place: str, progress: Path, moment: Callable[[], float]) -> None:
    """Start a process that goes on, and kill it a moment after it has begun, once it has done a micro-batch."""
    batch_before = _last_done_batch(progress)
    until = time.monotonic() + 120
    command = [sys.executable, "-m", "tests.engine.sinks.killed_sink", kind, place, str(progress)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            first_line = process.stdout.readline()
            assert first_line, process.stderr.read().decode()[-4000:]
            while _last_done_batch(progress) < batch_before + 2 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(moment())
            assert process.poll() is None, process.stderr.read().decode()[-4000:]
        finally:
            process.kill()
