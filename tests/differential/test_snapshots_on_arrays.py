"""Snapshots on arrays say what the reference says, on random streams; late rows change nothing, whatever task has them.

Each stream arrives in any legal order, cut into micro-batches anywhere, with restarts between some, on up to three
tasks; some batches fail after they were evaluated, and are run again. Rows behind the watermark come among the others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from muntin import INFINITY, Component, Event
from muntin.changes import Insertion
from muntin.testing.batches import KeyedChange
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays import (
    coding,
    entries,
    fusing,
    held_events,
    key_table,
    session_store,
    snapshots,
    stretch_table,
)
from muntin_engine.evaluators.arrays import values as batch_values
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.fused_bucket import FusedBucket
from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
from muntin_engine.evaluators.arrays.session_store import SessionStore
from muntin_engine.evaluators.arrays.snapshots import Edges, snapshots_of
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable
from muntin_engine.evaluators.arrays.values import Dense
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state import log as state_log
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from tests.differential.drive import check, failure
from tests.differential.forms import INVERTIBLE, Members
from tests.differential.slices import READS, rows_of
from tests.differential.snapshots import SnapshotCase, run


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
@pytest.mark.parametrize("forms", INVERTIBLE)
def test_the_output_is_that_of_the_reference_after_every_batch(forms: str, is_point: bool) -> None:
    for number in range(3):
        case = SnapshotCase(forms=forms, is_point=is_point, number=number)
        check(case, case.stream, run)


SMALL: dict[tuple[Any, str], int] = {
    (key_table, "FEW_KEYS"): 1,
    (coding, "_FEW"): 0,
    (coding, "DENSE"): 0,
    (state_log, "MOST_ALIKE"): 2,
    (fusing, "_MOST"): 0,
    (entries, "ENTRY_BYTES"): 64,
}


@pytest.mark.parametrize("least", [-(1 << 40), 1 << 20], ids=["written anew", "kept"])
def test_what_is_done_only_with_much_makes_no_difference(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, name), value in SMALL.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(state_log, "MOST_DEAD", least)
    for number in range(6):
        case = SnapshotCase(is_point=False, number=number)
        check(case, case.stream, run)


_cut, _ends_before = held_events._cut, stretch_table.ends_before

FAULTS: dict[str, tuple[Any, str, Any]] = {
    "late rows are taken": (session_store, "_since", lambda rows, _: rows),
    "snapshots at the watermark close": (
        snapshots,
        "ends_before",
        lambda ticks, watermark: _ends_before(ticks, min(watermark, INFINITY - 1) + 1),
    ),
    "events are forgotten early": (
        held_events,
        "_cut",
        lambda events, watermark: _cut(events, min(watermark, INFINITY - 2) + 2),
    ),
    "events begin where they began": (
        held_events,
        "_cut",
        lambda events, watermark: events.take(np.flatnonzero(~_ends_before(events.high, watermark))),
    ),
    "infinite values are subtracted": (batch_values, "_running_odd", lambda deltas, some: deltas.sums(some)),
    "other keys are added": (
        Edges,
        "sums",
        lambda self, values: np.cumsum(
            np.concatenate([values[self._begun], np.negative(values[self._ended])])[self._order], axis=0
        )[self._upto],
    ),
    "stale stores are kept": (
        KeptStores,
        "take",
        lambda self, name, _: getattr(self._stores.pop(name, None), "store", None),
    ),
    "entries die with the watermark": (
        FusedBucket,
        "_append",
        lambda self, log, some, delta, opened: (
            (log.forget(opened[0]), log.append(some.write(delta, 0))) if delta is not None else log.forget(opened[0])
        ),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_snapshots_on_arrays_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = "hostile" if fault == "infinite values are subtracted" else "several"
    cases = [SnapshotCase(forms=forms, is_point=False, number=number) for number in range(30)]
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run) for case in cases)


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_event_that_ended_leaves_its_edge_to_the_open_snapshot(is_kept: bool) -> None:
    """
    0      50   60      100
    |a------------------|
           |b---|    ^             the watermark passes the end of b with the batch that brings it; then a restart
    """
    cells, kept, form = MemoryCells(), KeptStores(), Members()
    forms = (BoundForm(form, "test.members 1", (0,), (READS,)),)
    found: list[tuple[int, int, int]] = []
    for event, watermark in ((Event(0, 100, 1), 10), (Event(50, 60, 2), 70), (None, 200)):
        rows = [] if event is None else [KeyedChange("a", Insertion(1, event))]
        blobs = [blob.blob for blob in lift_each(Fusing(1), rows_of(rows), forms)]
        kept = kept if is_kept else KeptStores()
        bucket = FusedBucket(
            (),
            lambda: SessionStore(FormEntries(forms), at_end=False, is_cut=True),
            cells,
            Codec(),
            Compatibility({}),
            kept,
            "bucket",
        )
        for complete in bucket.process(blobs, Progress(watermark, watermark, watermark)).output:
            windows = complete.windows
            found += zip(windows.low.tolist(), windows.high.tolist(), windows.weight.tolist(), strict=True)
    assert found == [(0, 50, 1), (50, 60, 2), (60, 100, 1)]


def test_snapshots_are_sums_of_the_events_that_overlap_them() -> None:
    for seed in range(200):
        random = np.random.default_rng(seed)
        count = seed % 25
        keys, starts = random.integers(0, 3, count), random.integers(0, 30, count)
        ends, numbers = starts + random.integers(1, 12, count), random.integers(-9, 10, count)
        whole = Part(0, "whole")
        parts = {whole: Dense(Component.sum("int64"), numbers)}
        events = StretchTable(keys, starts, ends, np.ones(count, np.int8), parts)
        first, last = sorted(random.integers(0, 45, 2).tolist())
        expected = []
        for key in range(3):
            own = keys == key
            for low, high in pairwise(np.unique(np.concatenate([starts[own], ends[own]])).tolist()):
                over = own & (starts < high) & (ends > low)
                if over.any() and first <= high < last:
                    expected.append((key, low, high, over.sum(), numbers[over].sum()))
        found = snapshots_of(events, first, last)
        columns = (found.keys, found.low, found.high, found.weight, found.parts[whole].array)
        assert list(zip(*columns, strict=True)) == expected
