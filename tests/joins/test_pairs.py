"""Pairs of events whose ends stay, on arrays: what the definition says, after each micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY, JoinKind, Window
from muntin_engine.core.changes import InputChange, Key, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.evaluators.pairing import kept_rows
from muntin_engine.evaluators.pairing.kept_rows import KeptRows
from muntin_engine.evaluators.pairing.pair_bucket import PairBucket, PairResult
from muntin_engine.evaluators.pairing.row_blobs import SideRows, from_blob, to_blob
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
    keys = list(dict.fromkeys(key for key, _ in rows))
    columns = [[row.start for _, row in rows], [row.end for _, row in rows], [keys.index(key) for key, _ in rows]]
    starts, ends, codes = (np.array(column, np.int64) for column in columns)
    payload = pa.table({"i0": pa.array([row.payload[0] for _, row in rows], pa.int64())})
    return to_blob([(side, pa.table({"k0": pa.array(keys, pa.string())}), SideRows(codes, starts, ends, payload))])


class PairRun(Run):
    """Two streams on their way through a bucket of pairs."""

    def restart(self) -> None:
        trackers, self._serial = [ProgressTracker(), ProgressTracker()], 0
        compatibility = Compatibility({"query": str(self.case)}, [])
        kept = KeptStores()
        condition = self.query.condition
        self.pairs = PairBucket(
            trackers, self.cells, Codec(), compatibility, kept, make_version=self._make_version, condition=condition
        )

    def evaluate(
        self, changes: Sequence[tuple[Key, Sequence[InputChange]]], arrived: Sequence[InputReport]
    ) -> BatchResult:
        sides = {row.side for _, rows in changes for row in rows}
        reported = [some.progress for some in arrived]
        found = self.pairs.process([blob(changes, side) for side in sorted(sides)], reported, [(), ()])
        assert found.late == 0
        held = HeldState(0, found.held, found.held, 0)
        progress, watermark = found.progress, found.progress.watermark
        return BatchResult(self._output(found), [], [], progress, watermark, found.accepted, held=held)

    def _output(self, found: PairResult) -> list[tuple[Key, list[OutputChange]]]:
        output: list[tuple[Key, list[OutputChange]]] = []
        for keys, starts, ends, sides in found.pairs:
            values = zip(*(side.column(0).to_pylist() for side in sides), strict=True)
            for key, start, end, value in zip(
                keys.column(0).to_pylist(), starts.tolist(), ends.tolist(), values, strict=True
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


def rows(*events: tuple[int, int, int]) -> SideRows:
    codes, starts, ends = (np.array(column, np.int64) for column in zip(*events, strict=True))
    return SideRows(codes, starts, ends, pa.table({"i0": pa.array(range(len(events)))}))


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
        for probe, payload in zip(probes.tolist(), kept.payload(places).column(0).to_pylist(), strict=True)
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
    bucket = PairBucket([ProgressTracker(), ProgressTracker()], cells, Codec(), Compatibility({"query": "a"}, []))
    sizes = []
    for at in range(200):
        change = InputChange(None, at, at + 10, (at,))
        both = [(("a",), [change, replace_side(change)])]
        watermark = Progress(at - 5 if at else EARLIEST)
        result = bucket.process([blob(both, 0), blob(both, 1)], [watermark] * 2, [(), ()])
        sizes.append(result.state_bytes)
    assert result.held == 2 * 15  # those that end after the watermark, which is five ticks behind
    assert max(sizes[50:]) < 2 * max(sizes[20:50]) < 60_000


def replace_side(change: InputChange) -> InputChange:
    return change._replace(side=1)


def test_a_side_of_which_the_join_has_no_column_keeps_its_rows() -> None:
    numbers = np.array([0, 0, 1])
    keys, unread = pa.table({"k0": ["a", "b"]}), pa.table({"i": numbers}).select([])
    packed = to_blob([(1, keys, SideRows(numbers, numbers * 10, numbers * 10 + 4, unread))])
    for _ in range(2):
        ((side, found, rows),) = from_blob(packed)
        assert (side, found.to_pydict(), rows.starts.tolist()) == (1, {"k0": ["a", "b"]}, [0, 0, 10])
        packed = to_blob([(side, found, rows)])  # as the state does
    kept = KeptRows()
    kept.add(rows.where(rows.starts < 10))
    kept.add(rows.where(rows.starts == 10))
    kept.forget(4)
    assert (kept.codes.tolist(), len(kept.payload(np.array([0]))), len(kept.rows())) == ([1], 1, 1)
