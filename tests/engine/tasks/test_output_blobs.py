"""Parts of a task's output: tables within a process, and bytes where they leave it."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa

from muntin_engine.tasks.output_blobs import ACCEPTED, RESULTS, OutputBlob, with_totals
from muntin_engine.wire.blobs import from_blob

TABLE = pa.table({"x": np.arange(100_000)})


def test_a_blob_of_a_table_has_the_table_itself_and_its_rows_as_bytes() -> None:
    blob = OutputBlob.of_table(RESULTS, TABLE)
    assert blob.rows == len(TABLE)
    assert blob.table is TABLE
    assert blob.data is not None
    assert from_blob(blob.data).equals(TABLE)


def test_a_blob_of_a_count_has_no_bytes() -> None:
    assert OutputBlob(ACCEPTED, 3).data is None


def test_a_slice_travels_to_another_process_without_the_rest_of_its_table() -> None:
    blobs = [OutputBlob.of_table(RESULTS, TABLE.slice(7, 3)), OutputBlob(ACCEPTED, 3, totals={"late": 1})]
    pickled = pickle.dumps(blobs)
    assert len(pickled) < 2_000, "the whole table has 800,000 bytes"
    assert pickle.loads(pickled) == blobs


def test_the_columns_of_a_blob_are_its_bytes_and_count_and_the_last_one_has_the_totals() -> None:
    first, last = with_totals([OutputBlob.of_table(RESULTS, TABLE.slice(0, 2)), OutputBlob(ACCEPTED, 5)])
    columns = first.columns()
    assert from_blob(columns.pop("data")).column("x").to_pylist() == [0, 1]
    assert columns == {"stream": RESULTS, "rows": 2, "totals": None}
    assert last.columns()["totals"] == {RESULTS: 2, ACCEPTED: 5}
