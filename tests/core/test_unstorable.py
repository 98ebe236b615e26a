"""A state that cannot be stored is named with its module, key and window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from muntin import Aggregate, Axis, EmitPolicy, IncrementalAggregate, hopping, tumbling
from muntin_engine.core.changes import Progress
from muntin_engine.errors import StateError
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core import build
from tests.core.sliced.build import Feed, Row, Total, sliced
from tests.crashing.modules import Buffer, Turns


class Chain(IncrementalAggregate[int, Any, int]):
    """Keeps a linked list of pairs."""

    name, version = "test.chain", "4.2.0"

    def create_state(self) -> Any:
        return ()

    def add_events(self, state: Any, payloads: Sequence[int]) -> Any:
        for payload in payloads:
            state = (payload, state)
        return state

    def combine(self, state: Any, other: Any) -> Any:
        while other:
            payload, other = other
            state = (payload, state)
        return state

    def compute_result(self, state: Any) -> int:
        return 1


class Deep(Aggregate[int, Any]):
    """Puts out a linked list."""

    name, version = "test.deep", "4.2.0"

    def compute_result(self, payloads: Sequence[int]) -> Any:
        return Chain().add_events((), payloads)


FLATTEN = "a value cannot be stored that is nested more than 100 deep"
OF_B = r"test\.chain 4\.2\.0 made a state that(.|\n)*key: \('b',\)\n  window: \[20, 30\)(.|\n)*flatten it"


@pytest.mark.parametrize(("module", "kept"), [(Chain(), "a state"), (Deep(), "a result")], ids=["state", "result"])
def test_of_a_window_that_may_be_revised(module: Any, kept: str) -> None:
    query = build.query(tumbling(1000), module, emit=EmitPolicy.EAGER, axis=Axis.TIME)
    cells = MemoryCells()

    def feed() -> None:
        for batch in range(4):
            changes = [build.row((batch, id), 5, 6, id) for id in range(60)]
            Bucket(query, cells, Codec(), {}).process([(("k",), changes), (("other",), changes[:1])], Progress(3, 3))

    with pytest.raises(StateError) as caught:
        feed()
    first, key, window, *advice = str(caught.value).splitlines()
    assert first == f"{module.name} 4.2.0 made {kept} that cannot be stored: {FLATTEN}"
    assert (key, window) == ("  key: ('k',)", "  window: [1970-01-01T00:00:00Z, 1970-01-01T00:00:00.001000Z)")
    assert "flatten it" in advice[-1]


@pytest.mark.parametrize("windows", [tumbling(10), hopping(30, 10)], ids=str)
def test_of_a_slice_where_the_rows_are(windows: Any) -> None:
    feed = Feed(sliced(windows, Total(), Chain()))
    rows = [Row(("a",), 1, 1), *(Row(("b",), 25, number) for number in range(150)), Row(("c",), 25, 1)]
    with pytest.raises(StateError, match=OF_B):
        feed.batch(rows, 0)


@pytest.mark.parametrize(
    ("module", "reason"),
    [(Buffer(), "of type bytearray"), (Turns(), "Span refuses it: ValueError")],
    ids=["bytes", "record"],
)
def test_of_a_slice_whose_states_would_come_back_as_something_else(module: Any, reason: str) -> None:
    feed = Feed(sliced(tumbling(10), Total(), module))
    with pytest.raises(StateError, match=rf"{module.name} 1 made a state that cannot be stored: .*{reason}"):
        feed.batch([Row(("b",), 25, 1 + number % 9) for number in range(150)], 0)


def test_of_a_slice_whose_parts_are_merged() -> None:
    """What a batch brings can be written; the states become too deep when entries are merged."""
    feed = Feed(sliced(tumbling(10), Total(), Chain()))
    for _ in range(8):
        feed.batch([Row(("b",), 25, number) for number in range(20)], 0)
    with pytest.raises(StateError, match=OF_B):
        feed.batch([Row(("b",), 25, 1)], 0)
