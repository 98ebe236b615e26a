"""What is remembered of a key comes back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import INFINITY, EmitPolicy, OutputContract, Window, count_by_end, hopping, snapshot
from muntin_engine.core.changes import InputChange
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_entry import WindowEntry
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.codec import Codec
from tests.core.build import query, revision, row, stored


def again(asked: EvaluatorQuery, state: KeyState) -> KeyState:
    kept = StateSerializer(asked, Codec())
    return KeyState.from_data(asked, [Codec().unpack(Codec().pack(state.to_data(kept, ())))], kept, ())


@pytest.mark.parametrize("window", [hopping(4, 9, reach=2), snapshot(), count_by_end(2)])
def test_a_state_comes_back_with_events_windows_and_what_waits(window: Any) -> None:
    asked = query(window, emit=EmitPolicy.EAGER, contract=OutputContract.TIME_BOUND)
    state = KeyState(asked, serial=7)
    state.assigner.frontier = -3
    state.replace(
        (),
        [
            stored(state.assigner, (id, lifetime[0]), *lifetime)
            for id, lifetime in enumerate([(0, 3), (1, INFINITY), (5, 9)])
        ],
    )
    rows = (revision("p", 4, None, 6), InputChange("p", 4, 6, (1, "x"), 5), row("p", 4, 9)._replace(source="s"))
    state.pending["p", 4] = PendingRows(rows, EventState(4, 7, ("y", 2)))
    state.windows.put(Window(0, 4), WindowEntry(2, [{"sum": 1}], [LiveRow(3, OutputRow(0, 4, ((1, 2),)))]))
    back = again(asked, state)
    assert list(back.events) == list(state.events)
    assert back.pending == state.pending
    assert back.windows.items() == state.windows.items()
    assert (back.serial, back.assigner.frontier) == (7, -3)
    kept = StateSerializer(asked, Codec())
    assert back.to_data(kept, ()) == state.to_data(kept, ())
    assert extents(back) == extents(state) != []


def extents(state: KeyState) -> list[Window]:
    return state.assigner.ending(list(state.events), -100, 20, 20)


def test_the_samples_of_an_edge_stream_come_back_with_its_events() -> None:
    asked = query(snapshot(), is_edge=True)
    state = KeyState(asked)
    state.replace((), [stored(state.assigner, 1, 0, 5), stored(state.assigner, 2, 5)])
    back = again(asked, state)
    assert back.samples is not None
    assert back.samples.around(4) == ((0, 1), (5, 2))
    assert back.samples.around(7) == ((5, 2), None)


def test_numbers_go_on_where_they_stopped() -> None:
    state = KeyState(query(snapshot()), serial=41)
    assert (state.next_serial(), state.anonymous_ids([5, 7]), state.serial) == (
        42,
        [(("anonymous", 43), 5), (("anonymous", 44), 7)],
        44,
    )
    assert KeyState(query(snapshot(), has_ids=False)).anonymous_ids([5, 7]) == range(1, 3)


def test_a_state_is_empty_when_forgetting_it_loses_nothing() -> None:
    fresh, waiting = KeyState(query(snapshot()), serial=9), KeyState(query(snapshot()))
    waiting.pending["p", 4] = PendingRows((revision("p", 4, 8, 6),))
    assert (fresh.is_empty, waiting.is_empty, len(waiting.waiting)) == (True, False, 1)
