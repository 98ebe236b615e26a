"""What a batch of one row touches in a key with many live events: as much as with few.

Calls are counted, and the entries of sorted lists that are read, and the windows that are unpacked; time says little
where others run too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from muntin import EmitPolicy, snapshot, tumbling
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_entry import PackedWindows, WindowEntry
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import MOST_BYTES, KeptStores
from tests.core.build import RunningTotal, query


class Watched(list[Any]):
    """A list that counts the entries that are read."""

    read = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        Watched.read += len(found) if isinstance(place, slice) else 1
        return found

    def __iter__(self) -> Iterator[Any]:
        for entry in super().__iter__():
            Watched.read += 1
            yield entry


def touched(window: WindowKind, emit: EmitPolicy, live: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the calls and the entries of a batch of one row, in the middle of as many live events."""
    states: list[KeyState] = []
    now = Progress(0, newest=8 * live)
    track = KeyState.track

    def tracked(state: KeyState) -> None:
        states.append(state)
        track(state)

    monkeypatch.setattr(KeyState, "track", tracked)
    bucket = Bucket(
        query(window, RunningTotal(), emit=emit, has_ids=False), MemoryCells(), Codec(), {}, kept=KeptStores()
    )
    bucket.process([((0,), [InputChange(None, 4 * at, 4 * at + 5, (at,)) for at in range(live)])], now)
    for at in range(3):  # the first ones find out how long events last, and what starts first
        bucket.process([((0,), [InputChange(None, 2 * live + 40 * at, 2 * live + 40 * at + 9, (1,))])], now)
    entries = PackedWindows.entries

    def unpacked(packed: PackedWindows) -> list[WindowEntry]:
        Watched.read += len(packed)
        return entries(packed)

    monkeypatch.setattr(PackedWindows, "entries", unpacked)
    events, windows = states[-1].events, states[-1].windows
    events._ordered, windows._packed = Watched(events._ordered), Watched(windows._packed)
    Watched.read = calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        output = bucket.process([((0,), [InputChange(None, 2 * live + 1, 2 * live + 10, (1,))])], now).output
    finally:
        sys.setprofile(before)
        monkeypatch.undo()
    assert (len(output) > 0) == (emit is not EmitPolicy.FINAL)
    return calls + Watched.read


@pytest.mark.parametrize(
    ("window", "emit"),
    [
        (snapshot(), EmitPolicy.EAGER),
        (snapshot(), EmitPolicy.SPECULATIVE),
        (snapshot(), EmitPolicy.FINAL),
        (tumbling(40), EmitPolicy.EAGER),
    ],
)
def test_a_row_touches_as_much_of_many_live_events_as_of_few(
    window: WindowKind, emit: EmitPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = (touched(window, emit, live, monkeypatch) for live in (1_000, 10_000))
    assert many < 1.2 * few, f"a batch of one row touches {few:,} with 1,000 live events and {many:,} with 10,000"


def test_400_000_live_events_in_snapshots_fit_into_what_a_worker_keeps() -> None:
    """Payloads are numbers, and times microseconds of today."""
    kept, bucket_query = KeptStores(), query(snapshot(), RunningTotal(), emit=EmitPolicy.EAGER, has_ids=False)
    bucket = Bucket(bucket_query, MemoryCells(), Codec(), {}, kept=kept)
    first, live = 1_700_000_000_000_000, 2_000
    rows = [InputChange(None, first + 1000 * at, first + 1000 * at + 900, (at,)) for at in range(live)]
    bucket.process([((0,), rows[1:])], Progress(0))
    bucket.process([((0,), rows[:1])], Progress(0))
    assert kept.held_bytes / live * 400_000 < MOST_BYTES
