"""`python -m benchmarks.workers`: the memory of Python workers, by evaluator and by the rows of a micro-batch.

An executor has two daemons, which start workers, and two workers for each core: Spark runs both Python operators after
the shuffle in one task. The figures of the page *Size a query* are from here.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from os import utime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

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
RUNS: Final = [("columnar", 500), ("columnar", 50_000), *((name, 500_000) for name in MODULES)]
"""Evaluators, and rows of a micro-batch for each core."""


def query_of(evaluator: str, rows: int, folder: Path) -> Query:
    """Return a query over files of random rows of 10,000 keys, a file per core and micro-batch of 30 seconds."""
    random = np.random.default_rng(1)
    for number in range(BATCHES * CORES):
        at = 1_700_000_000_000_000 + number // CORES * 30_000_000 + random.integers(0, 30_000_000, rows)
        columns = {"key": random.integers(0, 10_000, rows), "at": pa.array(at, pa.timestamp("us", "UTC"))}
        file = folder / f"{number}.parquet"
        pq.write_table(pa.table({**columns, "x": random.normal(size=rows)}), file)
        utime(file, (number, number))
    stream = local_session().readStream.schema("key long, at timestamp, x double").option("maxFilesPerTrigger", CORES)
    policy = "adjust" if evaluator == "general" else "drop"
    keyed = events(stream.parquet(str(folder)), key="key", at="at", watermark="30 seconds", late_policy=policy)
    return keyed.window(tumbling("1 minute")).aggregate(y=module(MODULES[evaluator], "x"))


class Peaks:
    """The most memory of each daemon and of each worker that was seen, in bytes: resident, and proportional (PSS)."""

    def __init__(self) -> None:
        self.daemons: dict[int, tuple[int, int]] = {}
        self.workers: dict[int, tuple[int, int]] = {}

    def look(self) -> None:
        """See how much each process takes now."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if "pyspark.worker" in process.cmdline():
                    is_worker = "pyspark.worker" in process.parent().cmdline()
                    seen, memory = self.workers if is_worker else self.daemons, process.memory_full_info()
                    resident, shared = seen.get(process.pid, (0, 0))
                    seen[process.pid] = (max(resident, memory.rss), max(shared, memory.pss))

    def megabytes(self) -> list[str]:
        """Return the sums over daemons, and over the workers of a core."""
        each = [[sum(sizes) for sizes in zip(*seen.values(), strict=True)] for seen in (self.daemons, self.workers)]
        return [f"{size / 1e6:.0f}" for size in (*each[0], *(size / CORES for size in each[1]))]


def peaks_of(evaluator: str, rows: int) -> Peaks:
    """Run a query in a session of its own, and return what its Python processes took."""
    peaks, ended = Peaks(), threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            peaks.look()

    with TemporaryDirectory() as room:
        files = Path(room) / "in"
        files.mkdir()
        query = query_of(evaluator, rows, files)
        thread = threading.Thread(target=watch, name="memory of workers", daemon=True)
        thread.start()
        query.write(checkpoint=f"{room}/c", results=lambda rows, _: rows.count(), available_now=True).awaitTermination()
        ended.set()
        thread.join()
        local_session().stop()
    return peaks


if __name__ == "__main__":
    table = Table("evaluator", "rows per core", "daemons, MB", "PSS", "workers of a core, MB", "PSS")
    for evaluator, rows in RUNS:
        table.add_row(evaluator, f"{rows:,}", *peaks_of(evaluator, rows).megabytes())
    Console().print(table)
