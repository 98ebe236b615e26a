"""`python -m benchmarks.workers`: the memory of Python workers, by evaluator and by the rows of a micro-batch.

An executor has two daemons, which start workers, and two workers for each core: Spark runs both Python operators after
the shuffle in one task. The figures of the page *Size a query* are from here.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.data import SECOND, write_file
from benchmarks.systems.plain_averages import PlainAverage, WholeAverage
from muntin import tumbling
from muntin_engine import Query, events, local_session, module

CORES: Final = 2
BATCHES: Final = 3
MODULES: Final[dict[str, Any]] = {
    "columnar": "stats.average",
    "sliced": PlainAverage,
    "grouped": WholeAverage,
    "general": WholeAverage,
}
START: Final = 1_700_000_000 * SECOND
MICRO_BATCH: Final = 30 * SECOND
RUNS: Final = [("columnar", 500), ("columnar", 50_000), *((name, 500_000) for name in MODULES)]
"""Evaluators, and rows of a micro-batch for each core."""


def query_of(evaluator: str, rows: int, folder: Path) -> Query:
    """Return a query over files of random rows of 10,000 keys, a file per core and micro-batch of 30 seconds."""
    random = np.random.default_rng(1)
    for number in range(BATCHES * CORES):
        first = START + number // CORES * MICRO_BATCH
        at = first + random.integers(0, MICRO_BATCH, rows)
        columns = {
            "key": random.integers(0, 10_000, rows),
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "x": random.normal(size=rows),
        }
        write_file(pa.table(columns), folder / f"{number}.parquet", number)
    stream = local_session().readStream.schema("key long, at timestamp, x double").option("maxFilesPerTrigger", CORES)

    # Only the general evaluator adjusts late rows, so this chooses it.
    policy: Literal["adjust", "drop"] = "adjust" if evaluator == "general" else "drop"
    rows_by_key = events(stream.parquet(str(folder)), key="key", at="at", watermark="30 seconds", late_policy=policy)
    return rows_by_key.window(tumbling("1 minute")).aggregate(y=module(MODULES[evaluator], "x"))


@dataclass(frozen=True)
class Memory:
    """The most memory that a process was seen to take, in bytes.

    Attributes:
        resident: A page that processes share counts once for each of them.
        proportional: Such a page is divided among them (PSS).
    """

    resident: int = 0
    proportional: int = 0


class Peaks:
    """The most memory of each Python process of Spark, by its id.

    Attributes:
        daemons: The processes that start workers.
        workers: The workers.
    """

    def __init__(self) -> None:
        self.daemons: dict[int, Memory] = {}
        self.workers: dict[int, Memory] = {}

    def look(self) -> None:
        """Raise the peaks of the processes to the memory that they take now."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it may end meanwhile
                if "pyspark.worker" not in process.cmdline():
                    continue
                is_worker = "pyspark.worker" in process.parent().cmdline()  # a daemon is a child of the JVM
                peaks = self.workers if is_worker else self.daemons
                memory = process.memory_full_info()
                peak = peaks.get(process.pid, Memory())
                peaks[process.pid] = Memory(max(peak.resident, memory.rss), max(peak.proportional, memory.pss))

    def megabytes(self) -> list[str]:
        """Return the cells of the table: of all daemons, and of the workers of a core."""
        cells = []
        for peaks, share in ((self.daemons.values(), 1), (self.workers.values(), CORES)):
            cells.append(f"{sum(peak.resident for peak in peaks) / share / 1e6:.0f}")
            cells.append(f"{sum(peak.proportional for peak in peaks) / share / 1e6:.0f}")
        return cells


def peaks_of(evaluator: str, rows: int) -> Peaks:
    """Run a query in a session of its own, and return what its Python processes took."""
    peaks = Peaks()
    has_ended = threading.Event()

    def watch() -> None:
        while not has_ended.wait(0.2):
            peaks.look()

    with TemporaryDirectory() as folder:
        files = Path(folder) / "in"
        files.mkdir()
        query = query_of(evaluator, rows, files)
        thread = threading.Thread(target=watch, name="memory of workers", daemon=True)
        thread.start()
        running = query.write(
            checkpoint=f"{folder}/checkpoint", results=lambda results, _: results.count(), available_now=True
        )
        running.awaitTermination()
        has_ended.set()
        thread.join()
        local_session().stop()
    return peaks


if __name__ == "__main__":
    table = Table("evaluator", "rows per core", "daemons, MB", "PSS", "workers of a core, MB", "PSS")
    for evaluator, rows in RUNS:
        table.add_row(evaluator, f"{rows:,}", *peaks_of(evaluator, rows).megabytes())
    Console().print(table)
