"""A query whose processes are killed while it runs, and what its sinks have in the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

import psutil
import pyarrow.parquet as pq

from muntin.testing.scripts import Script
from muntin_engine.testing.random_streams import random_stream, shuffle, split
from tests.journeys.running import plain, write_batches
from tests.journeys.scripts import tables
from tests.quick_spark import jvm as quick_jvm
from tests.scenarios.windows import until_closed
from tests.torture import story
from tests.torture.kind import Figures
from tests.torture.session import session

ROOT: Final = Path(__file__).parents[2]
BATCHES: Final = 8
COUNTED: Final = ("accepted", "late", "rejected")
_PATIENCE: Final = 180
"""Seconds after which a process of a story should have ended."""


def kills(seed: int, folder: Path) -> Figures:
    """Kill the JVM, a worker or the driver a few times, let the query end, and compare with an undisturbed run."""
    random = Random(seed)
    which = random.choice(story.STORIES)
    script = make_stream(seed)
    stream = write_batches(folder / "stream", tables(script))
    killed = folder / "killed"
    undisturbed = folder / "undisturbed"

    figures: Counter[str] = Counter()
    for _ in range(random.randint(1, 2)):
        process = _start(stream, killed, which, folder)
        outcome = _disturb(process, killed, random)
        figures[outcome] += 1
    last_process = _start(stream, killed, which, folder)
    try:
        assert last_process.wait(_PATIENCE) == 0, f"it does not go on:\n{(folder / 'log').read_text()[-4000:]}"
    finally:
        _kill_all(last_process)

    story.run(session(), stream, undisturbed, which)
    sinks = sinks_of(killed)
    expected = sinks_of(undisturbed)
    assert sinks == expected, f"{which}: {differences(sinks, expected)}"
    (progress,) = _whole(_rows(undisturbed / "progress"))
    assert sum(progress[name] for name in COUNTED) == len(script.changes()), f"each row is counted once: {progress}"
    rows = sum(sum(rows.values()) for rows in sinks.values())
    return {"queries": 1, **figures, "rows in sinks": rows}


def make_stream(seed: int, cuts: int = BATCHES) -> Script:
    """Return a stream of some micro-batches, about as many as there are cuts, with rows that come late."""
    chaos = random_stream(seed, events=120, keys=("a", "b", None, "c"), starts=range(120), disorder=25, closed=True)
    changes = until_closed(shuffle(until_closed(chaos), seed, early_revisions=True))
    return split(changes, seed, cuts=cuts / max(1, len(changes.steps)), restarts=0)


def sinks_of(folder: Path) -> Mapping[str, Counter[str]]:
    """Return the rows of each sink as text; of the progress of micro-batches the sums."""
    sinks: dict[str, Counter[str]] = {}
    for name in ("results", "late", "rejected", "progress"):
        rows = _table(folder / name) if name == "results" else _rows(folder / name)
        if name == "progress":
            rows = _whole(rows)
        sinks[name] = Counter(repr(_lasting(row)) for row in rows)
    return sinks


def _whole(progress: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sums of the progress of all micro-batches.

    If Spark is killed after its source wrote down which file is next, and before the offsets of the micro-batch, the
    next start makes one micro-batch of that file and the one after it. So their number may differ; none may be missing.
    """
    assert sorted(row["batch_id"] for row in progress) == list(range(len(progress))), "each micro-batch once"
    counts = {name: sum(row[name] for row in progress) for name in COUNTED}
    watermarks = [row["watermark"] for row in progress if row["watermark"] is not None]
    return [{**counts, "watermark": max(watermarks, default=None)}]


def _table(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a folder of results, or the live rows of a table."""
    from muntin_engine import ChangelogTable

    table = ChangelogTable(folder, key="key")
    try:
        return plain(table.read(session()).toArrow())
    except FileNotFoundError:
        return _rows(folder)


def _rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of all Parquet files in a folder, but those that are hidden."""
    files = sorted(file.relative_to(folder) for file in folder.rglob("*.parquet"))
    rows: list[dict[str, Any]] = []
    for file in files:
        is_hidden = any(part.startswith(("_", ".")) for part in file.parts)
        if not is_hidden:
            rows += plain(pq.read_table(folder / file, partitioning=None))
    return rows


def _lasting(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the columns that differ from run to run, such as durations and memory."""
    return {name: value for name, value in row.items() if name not in ("event_id", "metrics", "batch")}


def differences(rows_by_sink: Mapping[str, Counter[str]], expected: Mapping[str, Counter[str]]) -> str:
    """Return a line for each sink that differs: its missing rows, and those that should not be there."""
    lines: list[str] = []
    for name, expected_rows in expected.items():
        missing_rows = expected_rows - rows_by_sink[name]
        surplus_rows = rows_by_sink[name] - expected_rows
        if missing_rows or surplus_rows:
            lines.append(
                f"{name}: missing {list(missing_rows.elements())[:5]}, surplus {list(surplus_rows.elements())[:5]}"
            )
    return "\n".join(lines)


def _start(stream: Path, folder: Path, which: str, log_folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that runs a story over a stream, into the sinks of a folder."""
    folder.mkdir(exist_ok=True)
    environment = quick_jvm.environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.torture.story", str(stream), str(folder), which]
    with (log_folder / "log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _disturb(process: subprocess.Popen[bytes], folder: Path, random: Random) -> str:
    """Wait for some micro-batch and a moment, kill something, and wait until the driver has ended.

    Returns:
        What was killed, as the table of figures has it.
    """
    try:
        commits = folder / "checkpoint" / "commits"
        awaited_commits = _commits(commits) + random.randint(0, 3)
        until = time.monotonic() + _PATIENCE
        while process.poll() is None and _commits(commits) < awaited_commits and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(random.uniform(0, 0.6) if awaited_commits else random.uniform(3, 9))
        target = random.choice(("JVMs killed", "workers killed", "drivers killed"))
        victims = _victims(process, target)
        for victim in victims[:1] if target == "workers killed" else victims:
            victim.kill()
        assert process.wait(_PATIENCE) is not None
        return target if victims else "ended before the kill"
    finally:
        _kill_all(process)


def _commits(folder: Path) -> int:
    """Return how many micro-batches Spark has committed; each is a file whose name is its number."""
    return sum(name.isdigit() for name in os.listdir(folder)) if folder.is_dir() else 0


def _victims(process: subprocess.Popen[bytes], target: str) -> list[psutil.Process]:
    """Return the processes to kill; of workers those that are not the daemon, oldest last."""
    if process.poll() is not None:
        return []
    driver = psutil.Process(process.pid)
    if target == "drivers killed":
        return [driver]
    below = driver.children(recursive=True)
    try:
        jvms = [child for child in below if "java" in child.name()]
        if target == "JVMs killed":
            return jvms
        return [child for child in below if "python" in child.name() and child not in jvms][::-1]
    except psutil.NoSuchProcess:
        return []


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a story."""
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
    process.wait()
