"""The files of a recording, as a run writes them: one for each start of the query, and one for each micro-batch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

RUNS: Final = "runs"
"""The folder with a file for each start of the query."""

BATCHES: Final = "batches"
"""The folder with a file for each micro-batch that happened."""

UPSTREAM: Final = "upstream"
"""The folder of the recordings of the queries whose results a query reads, each in a folder of its own."""

FORMAT: Final = 1
"""The format of the files. It grows with a change after which older versions of Muntin cannot read them."""

CELLS: Final = pa.schema([("bucket", pa.int32()), ("name", pa.string()), ("data", pa.binary())])
"""The columns of the state that a run began with."""


def write_run(
    folder: Path,
    number: int,
    query: Mapping[str, Any],
    first_batch: int,
    *,
    reads: Sequence[int] = (),
    cells: pa.Table | None = None,
    keys: Any = None,
) -> None:
    """Write a run, which is a start of the query, and the state that it began with.

    Args:
        folder: The recording.
        number: The number of the start, from 0.
        query: The query as data, see `task_to_data`.
        first_batch: The number of the first micro-batch after the start.
        reads: The queries whose results the query reads, by the numbers of their recordings in `upstream/`.
        cells: The state, with the columns `CELLS`; None if a replay of the recorded micro-batches computes that state.
        keys: The keys whose rows are recorded, as plain data; None for all keys.
    """
    (folder / RUNS).mkdir(parents=True, exist_ok=True)
    name = f"{number:04}"
    cells_file = f"{name}.cells.parquet"
    if cells is not None:
        pq.write_table(cells.cast(CELLS), folder / RUNS / cells_file)
    data = {
        "format": FORMAT,
        "run": number,
        "first_batch": first_batch,
        "keys": keys,
        "reads": list(reads),
        "cells": None if cells is None else cells_file,
        "query": query,
    }
    write_json(folder / RUNS / f"{name}.json", data)


def write_batch(
    folder: Path,
    number: int,
    run: int,
    *,
    query_id: str,
    metrics: Mapping[str, int],
    files: Mapping[str, int],
    is_end: bool,
) -> None:
    """Write the file of a micro-batch that was committed.

    Args:
        folder: The recording.
        number: The number of the micro-batch.
        run: The number of the start of the query after which the micro-batch ran.
        query_id: The id that Spark gave the query; empty if it is not known.
        metrics: The metrics after the micro-batch, by name.
        files: The files with the rows of the micro-batch: the number of rows in each, by its name.
        is_end: True for the micro-batch that closes the stream, which has no rows.
    """
    (folder / BATCHES).mkdir(parents=True, exist_ok=True)
    data = {
        "batch": number,
        "run": run,
        "query_id": query_id,
        "is_end": is_end,
        "metrics": metrics,
        "files": files,
    }
    write_json(folder / BATCHES / f"{number:08}.json", data)


def write_json(file: Path, data: Mapping[str, Any]) -> None:
    """Write a file of JSON under another name and rename it, so that no reader sees half of it."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")
    unfinished.replace(file)
