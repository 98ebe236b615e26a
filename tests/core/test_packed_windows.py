"""Windows in arrays are the same windows, and an index that packs them is the same index."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, EmitPolicy, Window, snapshot, tumbling
from muntin.windows import WindowKind
from muntin_engine.core.changes import InputChange, OutputChange, Progress
from muntin_engine.evaluators.general import window_index
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.evaluators.general.packed_windows import PackedWindows
from muntin_engine.evaluators.general.window_entry import NEW, WindowEntry
from muntin_engine.evaluators.general.window_index import WindowIndex
from muntin_engine.evaluators.keyed import key_store
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores
from tests.core.build import Members, RunningTotal, query


def plain(window: Window, value: object, size: int = 1) -> WindowEntry:
    return WindowEntry(size, [], [LiveRow(window.start + 7, OutputRow(window.start, window.end, value))])


def exactly(entries: list[WindowEntry]) -> str:
    """Spell entries with the types of what they hold; `==` takes 1 for True."""
    return repr(entries)


@pytest.mark.parametrize(
    "values",
    [
        [0.5, -0.0, float("nan"), float("inf")],
        [1, -(2**63), 2**63 - 1],
        [1, 2**63],
        [1, 2.0, True, None],
        [True, False],
        ["a", "b"],
        [(1.5,), (2.5,)],
        [(1, "a", None), (2, "b", 0.5)],
        [(1, (2.5, 3)), (2, (3.5, 4))],
        [(), ()],
        [(1,), (1, 2)],
        [[1.5], [2.5]],
    ],
)
def test_results_are_the_same_to_the_bit_and_in_type(values: list[object]) -> None:
    windows = [Window(at, at + 1) for at in range(len(values))]
    entries = [plain(window, value, size=9) for window, value in zip(windows, values, strict=True)]
    packed = PackedWindows.of(windows, entries)
    assert (packed.first, packed.last, len(packed)) == (windows[0], windows[-1], len(values))
    assert packed.windows() == windows
    assert exactly(packed.entries()) == exactly(entries)


def test_windows_that_arrays_cannot_have_are_kept_as_they_are() -> None:
    windows = [Window(EARLIEST, 0), *(Window(at, at + 1) for at in range(4)), Window(4, INFINITY)]
    entries = [
        plain(windows[0], 1.5),
        WindowEntry(2, [[3]], plain(windows[1], 2.5).live),
        WindowEntry(1, [], []),
        WindowEntry(1, [], [LiveRow(1, OutputRow(3, 4, 3.5))]),
        WindowEntry(1, [], [LiveRow(1, OutputRow(3, 4, "a")), LiveRow(2, OutputRow(3, 4, "b"))]),
        plain(windows[5], 4.5),
    ]
    assert exactly(PackedWindows.of(windows, entries).entries()) == exactly(entries)


def test_numbers_take_a_tenth_of_the_memory() -> None:
    windows = [Window(at, at + 1) for at in range(128)]
    packed = PackedWindows.of(windows, [plain(window, (0.5,)) for window in windows])
    assert packed.memory < 128 * 75
    assert PackedWindows.of(windows, [plain(window, "0.5") for window in windows]).memory > 128 * 100


def test_an_index_that_packs_agrees_with_one_that_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_index, "MOST_OBJECTS", 8)
    monkeypatch.setattr(window_index, "RUN", 6)
    random = Random(3)
    index, other = WindowIndex(packs=True), WindowIndex()
    has_packed = 0
    for _ in range(150):
        for _ in range(random.choice((1, 1, 40))):
            start = random.randrange(0, 600, 2)
            window = Window(start, start + 5)
            entry = random.choice((NEW, plain(window, random.random()), WindowEntry(2, [1], [])))
            for one in (index, other):
                one.put(window, entry)
        if random.random() < 0.1:
            frontier = random.randrange(200)
            assert index.close(frontier, 0) == other.close(frontier, 0)
        at = random.randrange(600)
        stretches = [Window(at, random.choice((at + random.randrange(1, 60), INFINITY)))]
        if random.random() < 0.5:
            assert index.touched_by(stretches) == other.touched_by(stretches)
            assert index.get(window) == other.get(window)
        assert len(index) == len(other)
        assert index.items() == other.items()
        assert index.changed == other.changed
        if random.random() < 0.7:
            index.track()
            other.track()
            has_packed += index.memory is not None
    assert has_packed > 40


@pytest.mark.parametrize("make", [RunningTotal, Members])
@pytest.mark.parametrize("window", [snapshot(), tumbling(4)])
def test_output_and_state_do_not_depend_on_packing(
    window: WindowKind, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(most: int) -> tuple[list[list[OutputChange]], dict[str, bytes]]:
        monkeypatch.setattr(window_index, "MOST_OBJECTS", most)
        monkeypatch.setattr(window_index, "RUN", 4)
        monkeypatch.setattr(key_store, "LARGE", 1)
        random, cells, kept = Random(8), MemoryCells(), KeptStores()
        asked = query(window, make(), emit=EmitPolicy.EAGER)
        bucket = Bucket(asked, cells, Codec(), {}, kept=kept, make_version=lambda: random.randbytes(4))
        live: list[tuple[int, int, int]] = []
        output: list[list[OutputChange]] = []
        for batch in range(40):
            rows: list[InputChange] = []
            for number in range(60 if batch == 0 else random.randrange(4)):
                start = 4 * batch + random.randrange(200)
                live.append((100 * batch + number, start, start + random.randrange(2, 20)))
                rows.append(InputChange(*live[-1], (number,)))
            if batch % 3 == 2:
                id, start, end = live.pop(random.randrange(len(live)))
                rows.append(InputChange(id, start, end, (), end + 9))
            if batch % 10 == 9:  # as in another process
                kept = KeptStores()
                bucket = Bucket(asked, cells, Codec(), {}, kept=kept, make_version=lambda: random.randbytes(4))
            result = bucket.process([((0,), rows)], Progress(4 * batch, 4 * batch))
            output.append([change for _, changes in result.output for change in changes])
        return output, cells.cells

    unpacked = 0
    unpack = PackedWindows.entries

    def entries(packed: PackedWindows) -> list[WindowEntry]:
        nonlocal unpacked
        unpacked += 1
        return unpack(packed)

    monkeypatch.setattr(PackedWindows, "entries", entries)
    packing = run(2)
    assert unpacked > 30
    assert packing == run(10**9)
