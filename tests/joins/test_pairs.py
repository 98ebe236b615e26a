"""Pairs of events whose ends stay, on arrays: what the definition says, after each micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, JoinKind, Window
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
from muntin_engine.evaluators.arrays.row_values import RowValues
from muntin_engine.evaluators.arrays.stretch_table import ROWS, StretchTable
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.pairing import kept_rows
from muntin_engine.evaluators.pairing.kept_rows import KeptRows
from muntin_engine.evaluators.pairing.pair_store import SIDES, pair_query
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import HeldState, MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from tests.joins.drive import Case, Run, meets_often, meets_rarely, run_case
from tests.joins.meaning import Side


def blob(changes: Sequence[tuple[Key, Sequence[InputChange]]], side: int) -> bytes:
    """Return the rows of a side as the map side sends them."""
    rows = [(key[0], row) for key, some in changes for row in some if row.side == side]
    starts, ends = (np.array([getattr(row, name) for _, row in rows], np.int64) for name in ("start", "end"))
    keys = pa.array([key for key, _ in rows], pa.string())
    payload = pa.array([row.payload[0] for _, row in rows], pa.int64())
    lifted = Rows(np.zeros(len(rows), np.int32), starts, ends, [keys], [payload])
    (found,) = lift_each(Fusing(1), lifted, packed=[bytes([side])])
    return found.blob


class PairRun(Run):
    """Two streams on their way through a bucket of pairs."""

    def restart(self) -> None:
        trackers, self._serial = [ProgressTracker(), ProgressTracker()], 0
        compatibility = Compatibility({"query": str(self.case)}, [])
        kept = KeptStores()
        query = pair_query(self.query.condition)
        self.pairs = ArrayBucket(
            query, trackers, self.cells, Codec(), compatibility, kept, make_version=self._make_version
        )

    def evaluate(
        self, changes: Sequence[tuple[Key, Sequence[InputChange]]], arrived: Sequence[InputReport]
    ) -> BatchResult:
        sides = {row.side for _, rows in changes for row in rows}
        found = self.pairs.process([blob(changes, side) for side in sorted(sides)], arrived)
        assert found.outcome.late == 0
        held, progress = HeldState(0, found.held.events, found.held.events, 0), found.now.least
        output = self._output(found.outcome.output)
        return BatchResult(output, [], [], progress, progress.watermark, found.outcome.accepted, held=held)

    def _output(self, found: Sequence[Closed]) -> list[tuple[Key, list[OutputChange]]]:
        output: list[tuple[Key, list[OutputChange]]] = []
        for _, pairs, keys, _ in found:
            values = zip(*(pairs.parts[side].table.column(0).to_pylist() for side in SIDES), strict=True)
            for key, start, end, value in zip(
                keys.column(0).to_pylist(), pairs.low.tolist(), pairs.high.tolist(), values, strict=True
            ):
                self.serial += 1
                change = OutputChange(OutputKind.INSERT, self.serial, Window(start, end), start, end, value)
                output.append(((key,), [change]))
        return output

    serial = 0


def run_pairs(seed: int) -> None:
    """Run two random streams of events without ids."""
    random = Random(seed)
    fixed = Side(has_ids=False)
    count, on = random.choice((5, 20, 60)), random.choice((None, meets_often, meets_rarely))
    run_case(Case(seed, JoinKind.INNER, False, (fixed, fixed), 0.0, count, on), PairRun)


@pytest.mark.parametrize("seed", range(40))
def test_pairs_are_those_of_the_definition(seed: int) -> None:
    run_pairs(seed)


def rows(*events: tuple[int, int, int]) -> StretchTable:
    codes, starts, ends = (np.array(column, np.int64) for column in zip(*events, strict=True))
    payload = RowValues.of(pa.table({"i0": pa.array(range(len(events)))}))
    return StretchTable(codes, starts, ends, np.ones(len(events), np.int8), {ROWS: payload})


def payload_of(rows: StretchTable) -> list[int]:
    values: list[int] = rows.parts[ROWS].table.column(0).to_pylist()
    return values


@pytest.mark.parametrize("most", [1, 3, 10**6])
def test_a_search_finds_each_overlap_once_however_it_is_cut(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "MOST_CANDIDATES", most)
    random = Random(most)
    ends = (1, 2, 5, INFINITY)

    def event() -> tuple[int, int, int]:
        start = random.randrange(-9, 20)
        return random.randrange(4), start, min(start + random.choice(ends), INFINITY)

    kept, known = KeptRows(), [event() for _ in range(60)]
    for place in range(0, 60, 7):
        kept.add(rows(*known[place : place + 7]))
    asked = [event() for _ in range(30)]
    found = [
        (probe, payload)
        for probes, places in kept.overlapping(rows(*asked))
        for probe, payload in zip(probes.tolist(), payload_of(kept.rows.take(places)), strict=True)
    ]
    wanted = [
        (probe, place % 7)
        for probe, (key, start, end) in enumerate(asked)
        for place, (other, since, until) in enumerate(known)
        if key == other and start < until and since < end
    ]
    assert sorted(found) == sorted(wanted)


def test_a_batch_writes_its_own_rows_and_dead_entries_go() -> None:
    cells = MemoryCells()
    trackers = [ProgressTracker(), ProgressTracker()]
    bucket = ArrayBucket(pair_query(), trackers, cells, Codec(), Compatibility({"query": "a"}, []))
    sizes = []
    for at in range(200):
        change = InputChange(None, at, at + 10, (at,))
        both = [(("a",), [change, replace_side(change)])]
        watermark = InputReport(Progress(at - 5 if at else EARLIEST))
        result = bucket.process([blob(both, 0), blob(both, 1)], [watermark] * 2)
        sizes.append(result.held.bytes)
    assert result.held.events == 2 * 15  # those that end after the watermark, which is five ticks behind
    assert max(sizes[50:]) < 2 * max(sizes[20:50]) < 60_000


def replace_side(change: InputChange) -> InputChange:
    return change._replace(side=1)


def test_a_side_of_which_the_join_has_no_column_keeps_its_rows() -> None:
    cells, trackers = MemoryCells(), [ProgressTracker(), ProgressTracker()]
    starts, keys = np.array([0, 0, 10]), pa.array(["a", "a", "b"])
    lifted = Rows(np.zeros(3, np.int32), starts, starts + 4, [keys], [])
    (bare,) = lift_each(Fusing(1), lifted, packed=[bytes([1])])
    for at in (EARLIEST, 4):  # a new process reads what the one before wrote
        bucket = ArrayBucket(pair_query(), trackers, cells, Codec(), Compatibility({"query": "a"}, []))
        result = bucket.process([bare.blob] if at == EARLIEST else [], [InputReport(Progress(at))] * 2)
        assert result.held.events == (3 if at == EARLIEST else 1)
    met = bucket.process([blob([(("b",), [InputChange(None, 8, 20, (5,))])], 0)], [InputReport(Progress(4))] * 2)
    assert [(pairs.low.tolist(), pairs.high.tolist()) for _, pairs, _, _ in met.outcome.output] == [([10], [14])]
