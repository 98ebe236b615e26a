"""Lists of rows as values: whatever is taken, joined and merged, each list has the rows that Python's lists would."""

from __future__ import annotations

from itertools import count, islice
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin_engine.evaluators.arrays import row_lists
from muntin_engine.evaluators.arrays.row_lists import RowLists

Told = list[list[tuple[int, str]]]


def lists_of(told: Told) -> RowLists:
    rows = [row for some in told for row in some]
    starts, names = ([row[place] for row in rows] for place in (0, 1))
    table = pa.table({"start": pa.array(starts, pa.int64()), "i0": pa.array(names, pa.string())})
    return RowLists.of(table, np.array(list(map(len, told)), np.int64))


def told_by(lists: RowLists) -> Told:
    counts = [int(some.lengths.sum()) for some in (lists.take(slice(at, at + 1)) for at in range(len(lists)))]
    table = lists.table.take(pa.array(lists.places()))
    rows = list(zip(table["start"].to_pylist(), table["i0"].to_pylist(), strict=True))
    ends = np.cumsum(counts).tolist()
    return [rows[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("most_chunks", [1, 16])
@pytest.mark.parametrize("seed", range(20))
def test_lists_of_rows_are_taken_joined_and_merged_as_pythons_are(
    seed: int, most_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_lists, "MOST_CHUNKS", most_chunks)
    random, rows = Random(seed), ((row, f"row {row}") for row in count())

    def drawn() -> Told:
        return [list(islice(rows, random.randrange(4))) for _ in range(1 + seed % 7)]

    told = drawn()
    lists = lists_of(told)
    for _ in range(12):
        match random.randrange(4):
            case 0:
                more = drawn()
                told, lists = told + more, lists.concat([lists_of(more)])
            case 1:
                codes = [random.randrange(3) for _ in told]
                coded = list(zip(codes, told, strict=True))
                told = [[row for code, some in coded for row in some if code == at] for at in range(3)]
                lists = lists.reduce(np.array(codes, np.int64), 3)
            case 2:
                places = [random.randrange(len(told)) for _ in range(random.randrange(1, 8))]
                told, lists = [told[place] for place in places], lists.take(np.array(places))
            case _:
                first = random.randrange(len(told))
                told, lists = told[first:], lists.take(slice(first, len(told)))
        assert told_by(lists) == told
        counts = np.array(list(map(len, told)), np.int64)
        assert told_by(RowLists.from_blob(lists.to_blob(), counts)) == told
    assert lists.payload(lists.places(), pa.ChunkedArray.to_pylist) == [[name for some in told for _, name in some]]


def test_rows_that_nobody_needs_are_freed() -> None:
    whole = lists_of([[(row, "x" * 1000)] for row in range(1000)])
    assert len(whole.take(np.arange(900)).table) == 1000
    few = whole.take(np.arange(100))
    assert len(few.table) == 100
    assert few.nbytes < whole.nbytes / 9


def test_rows_without_a_payload_are_counted() -> None:
    lists = RowLists.of(pa.table({"start": [4, 9, 9]}), np.array([1, 2]))
    again = RowLists.from_blob(lists.to_blob(), np.array([1, 2]))
    assert (again.times[0].tolist(), again.payload(again.places(), pa.ChunkedArray.to_pylist)) == ([4, 9, 9], [])
