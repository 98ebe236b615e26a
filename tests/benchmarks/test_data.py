"""The synthetic stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.data import MICROSECONDS, Data, Pace, table_of

DATA = Data(keys=20, rows=2_000, files=2)


def ticks(table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    at: np.ndarray[tuple[int], np.dtype[np.int64]] = table["at"].cast(pa.int64()).to_numpy()
    return at


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
