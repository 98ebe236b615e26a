"""The index of windows that are out and may change again.

         0    5    10   15
A        [---------)            [0, 10)
B             [---------)       [5, 15)
past             !              [8, 9): it no longer exists, but something of it stands
"""

from __future__ import annotations

from random import Random

from muntin import Window
from muntin_engine.evaluators.general.window_entry import NEW, WindowEntry
from muntin_engine.evaluators.general.window_index import WindowIndex, by_window
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow

A, B, PAST = Window(0, 10), Window(5, 15), Window(8, 9)


def entry(size: int, *extents: tuple[int, int]) -> WindowEntry:
    return WindowEntry(size, [], [LiveRow(i, OutputRow(*extent, "v")) for i, extent in enumerate(extents)])


def history() -> WindowIndex:
    index = WindowIndex(keeps_history=True)
    index.put(PAST, entry(0, (8, 9)))
    index.put(B, entry(2, (5, 7), (7, 15)))
    index.put(A, entry(1, (0, 10)))
    return index


def windows(index: WindowIndex, start: int, end: int) -> list[Window]:
    return [window for window, _ in index.touched_by([Window(start, end)])]


def test_windows_lie_in_order_and_overlap_is_half_open() -> None:
    index = WindowIndex()
    index.put(B, entry(1))
    index.put(A, entry(1))
    assert [window for window, _ in index.items()] == [A, B]
    assert windows(index, 0, 5) == [A]
    assert windows(index, 9, 10) == [A, B]
    assert windows(index, 10, 99) == [B]
    assert windows(index, 15, 99) == []


def test_a_window_that_is_past_does_not_hide_those_before_it() -> None:
    assert windows(history(), 9, 10) == [A, B]
    assert windows(history(), 8, 9) == [A, B]


def test_an_entry_that_says_nothing_is_forgotten() -> None:
    index = WindowIndex()
    assert index.get(A) is NEW
    index.put(A, entry(1))
    index.put(A, entry(0))
    assert index.get(A) is NEW
    assert len(index) == 0


def test_closing_forgets_the_existing_windows_before_the_frontier() -> None:
    index = history()
    index.close(frontier=5, watermark=0)
    assert [window for window, _ in index.items()] == [B, PAST]


def test_closing_forgets_rows_that_cannot_be_shortened_any_more() -> None:
    """
             0    5    10   15
    B             [-)                5 to 7: stands for good at 9
                    [-------)        7 to 15
    past             !               8 to 9: so does this
    """
    index = history()
    assert list(index.unsettled()) == [9]
    index.close(frontier=0, watermark=9)
    assert [window for window, _ in index.items()] == [A, B]
    assert [out.row.start for out in index.get(B).live] == [7]
    assert list(index.unsettled()) == []


def test_an_index_agrees_with_a_plain_search_whatever_is_done_to_it() -> None:
    random = Random(5)
    index, plain = WindowIndex(), dict[Window, WindowEntry]()
    for step in range(400):
        for _ in range(random.choice((1, 1, 1, 90)) if step < 40 else 1):
            start = random.randrange(0, 4000, 2)
            window, size = Window(start, start + 5), random.randrange(4)
            index.put(window, entry(size))
            plain |= {window: entry(size)}
            if not size:
                del plain[window]
        if random.random() < 0.1:
            frontier = random.randrange(1000)
            assert index.close(frontier, 0) == sum(window.start < frontier for window in plain)
            plain = {window: kept for window, kept in plain.items() if window.start >= frontier}
        assert [window for window, _ in index.items()] == sorted(plain, key=by_window)
        stretches = [Window(at, at + random.randrange(1, 9)) for at in random.sample(range(4000), 3)]
        wanted = {
            window: [some for some in stretches if some.start < window.end and window.start < some.end]
            for window in sorted(plain, key=by_window)
        }
        assert index.touched_by(stretches) == [(window, some) for window, some in wanted.items() if some]
