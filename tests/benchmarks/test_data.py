"""The synthetic stream."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.data import MICROSECONDS, SCHEMA, Data, Pace, lifetimes_of, table_of, write_data

DATA = Data(keys=20, rows=2_000, files=2)


def ticks(table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    at: np.ndarray[tuple[int], np.dtype[np.int64]] = table["at"].cast(pa.int64()).to_numpy()
    return at


def test_the_same_fields_give_the_same_rows() -> None:
    assert table_of(DATA, 1).equals(table_of(DATA, 1))
    assert table_of(DATA, 1).schema == SCHEMA


@pytest.mark.parametrize("other", [{"seed": 1}, {"keys": 21}, {"distribution": "zipf"}, {"pace": Pace(5_000)}])
def test_other_fields_give_other_rows_and_another_folder(other: dict[str, object]) -> None:
    changed = replace(DATA, **other)  # type: ignore[arg-type]  # of any field
    assert not table_of(changed, 0).equals(table_of(DATA, 0))
    assert changed.name != DATA.name


def test_a_file_does_not_depend_on_how_many_there_are() -> None:
    assert table_of(DATA, 0).equals(table_of(replace(DATA, files=1), 0))


@pytest.mark.parametrize("pace", [Pace(), Pace(1_729_000_000, 172_800)])
def test_each_file_covers_its_own_span(pace: Pace) -> None:
    for number in range(2):
        at = ticks(table_of(replace(DATA, pace=pace), number))
        first = (pace.start + number * pace.span) * MICROSECONDS
        assert at.min() == first
        assert at.max() < first + pace.span * MICROSECONDS
        assert len(set(at.tolist())) == len(at)


@pytest.mark.parametrize("pace", [Pace(), Pace(1_729_000_000, 172_800)])
def test_rows_are_out_of_order_by_less_than_the_delay(pace: Pace) -> None:
    at = ticks(table_of(replace(DATA, pace=pace), 0))
    behind = np.maximum.accumulate(at) - at
    assert 0 < behind.max() <= pace.disorder * MICROSECONDS
    assert pace.delay == 5 * pace.disorder


def test_zipf_keys_are_skewed_and_in_range() -> None:
    keys = table_of(Data(1000, 20_000, distribution="zipf"), 0)["key"].to_numpy()
    counts = np.bincount(keys, minlength=1000)
    assert len(counts) == 1000
    assert counts[0] > 5 * counts[9] > 0
    assert counts[0] > 0.1 * len(keys)


def test_files_are_written_once_and_read_in_their_order(tmp_path: Path) -> None:
    files = write_data(DATA, tmp_path)
    changed = [path.stat().st_mtime for path in files.paths]
    assert changed == sorted(set(changed))
    inodes = [path.stat().st_ino for path in files.paths]
    again = write_data(replace(DATA, files=3), tmp_path)
    assert [path.stat().st_ino for path in again.paths][:2] == inodes
    assert len(again.paths) == 3
    assert pq.read_table(files.paths[1]).equals(table_of(DATA, 1))


def test_lifetimes_are_positive_and_at_most_half_a_minute() -> None:
    lasting = lifetimes_of(np.arange(10**15, 10**15 + 10_000_000, 1_001))
    assert lasting.min() > 0
    assert 25 * MICROSECONDS < lasting.max() <= 30 * MICROSECONDS
