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
    has_changes = kind.endswith("-merged")
    place = place_of(kind, tmp_path, request)
    progress = tmp_path / "progress"
    for _ in range(KILLS):
        run_and_kill(kind, place, progress, seconds=lambda: random.uniform(0, 0.3))
    last_noted = last_noted_batch(progress)
    assert last_noted >= 2 * KILLS - 1, "each process writes two micro-batches at the least"

    # A process may have died between a micro-batch and the note of it: then the sink has one more than was noted.
    rows = Counter(map(str, compared_rows(kind, place)))
    noted_rows = Counter(map(str, expected_rows(range(last_noted + 1), changes=has_changes)))
    rows_with_next_batch = Counter(map(str, expected_rows(range(last_noted + 2), changes=has_changes)))
    difference = f"missing {noted_rows - rows}, too many {rows - rows_with_next_batch}"
    if kind == "kafka":  # readers see messages one by one
        assert noted_rows <= rows <= rows_with_next_batch, difference
    else:
        assert rows in (noted_rows, rows_with_next_batch), difference
    sys.stdout.write(f"{kind}: {KILLS} kills, {last_noted + 1} micro-batches, {rows.total()} rows\n")


def place_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Return the address of an empty place for a sink; servers are started when they are needed."""
    match kind.removesuffix("-merged"):
        case "s3":
            return address_of("killed", request.getfixturevalue("s3"))
        case "sqlite":
            return f"sqlite:{folder}/place.db?table=hours"
        case "postgresql":
            address = request.getfixturevalue("postgresql")
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("DROP TABLE IF EXISTS hours, muntin_batches")
            return f"{address}&table=hours"
        case "kafka":
            return f"kafka://{request.getfixturevalue('kafka')}/hours"
        case _:
            return str(folder / "place")


def compared_rows(kind: str, place: str) -> list[dict[str, object]]:
    """Return the rows of a sink, with the columns that a test compares."""
    names = compared_columns(changes=kind.endswith("-merged"), has_new_column=False)
    return [{name: row[name] for name in names} for row in rows_in(kind, place).to_pylist()]


def last_noted_batch(progress: Path) -> int:
    """Return the last micro-batch that a process has noted as written; -1 for none."""
    return int(progress.read_text()) if progress.exists() else -1


def run_and_kill(kind: str, place: str, progress: Path, seconds: Callable[[], float]) -> None:
    """Start a process that goes on writing, and kill it some seconds after it has written two micro-batches.

    Args:
        kind: The kind of the sink.
        place: The address of the sink.
        progress: The file in which the process notes its micro-batches.
        seconds: A function that returns how long to wait then.
    """
    enough_batches = last_noted_batch(progress) + 2
    deadline = time.monotonic() + 120
    command = [sys.executable, "-m", "tests.engine.sinks.killed_sink", kind, place, str(progress)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            first_line = process.stdout.readline()
            assert first_line, process.stderr.read().decode()[-4000:]
            while process.poll() is None and time.monotonic() < deadline:
                if last_noted_batch(progress) >= enough_batches:
                    break
                time.sleep(0.001)
            time.sleep(seconds())
            assert process.poll() is None, process.stderr.read().decode()[-4000:]
        finally:
            process.kill()
