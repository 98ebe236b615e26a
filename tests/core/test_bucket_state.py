"""The metadata: what a bucket reads first and writes last."""

from __future__ import annotations

import pytest

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.errors import Difference, StateError, StateMismatchError
from muntin_engine.state.bucket_state import LAYOUT, BucketMetadata, Due, KeyTimer, soonest
from muntin_engine.state.cells import HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility

IDENTITY = {"axis": "ticks", "modules": [["test.total", "1.0.0", {}, []]]}


def read(data: bytes | None, **identity: object) -> BucketMetadata:
    return BucketMetadata.from_bytes(data, Compatibility({**IDENTITY, **identity}), Codec())


def test_a_ledger_comes_back_as_it_was_written() -> None:
    metadata = read(None)
    assert metadata.progress == Progress(EARLIEST, EARLIEST, EARLIEST)
    metadata.progress = Progress(5, 9, 7)
    metadata.timer, metadata.held = KeyTimer(INFINITY, 8, EARLIEST, 5), HeldState(0, 3, 7, 2)
    metadata.serial, metadata.version, metadata.log = 12, b"a name", [3, []]
    metadata.tracked, metadata.patterns = [5, "a source"], [[[["eu"], []], 7]]
    again = read(metadata.to_bytes(Codec()))
    assert vars(again) == vars(metadata)


def test_another_query_is_told_what_differs() -> None:
    data = read(None).to_bytes(Codec())
    with pytest.raises(StateMismatchError) as caught:
        read(data, modules=[["test.total", "2.0.0", {}, []]], clip="full")
    assert caught.value.differences == (
        Difference("module", "test.total 1.0.0", "test.total 2.0.0"),
        Difference("clip", "none", "full"),
    )
    assert "module: the checkpoint has test.total 1.0.0, the query has test.total 2.0.0" in str(caught.value)
    assert "start the changed query with a new checkpoint, or change it back" in str(caught.value)


def test_another_layout_is_not_read() -> None:
    with pytest.raises(StateError, match=f"the checkpoint has state layout 99, this query reads {LAYOUT}"):
        read(Codec().pack([99, "whatever"]))


def test_a_due_is_at_hand_when_either_of_its_times_has_come() -> None:
    due = KeyTimer(closing=10, visibility=20, output_watermark=0)
    assert not due.is_reached(Due(closing=9, visibility=19))
    assert due.is_reached(Due(closing=10, visibility=0))
    assert due.is_reached(Due(closing=0, visibility=20))


def test_the_soonest_of_none_is_never() -> None:
    assert soonest([]) == KeyTimer(INFINITY, INFINITY, INFINITY)


def test_progress_never_goes_back() -> None:
    assert Progress(5, 9, 7).advance(Progress(3, 12, 1)) == Progress(5, 12, 7)
    assert Progress(5, 9, 7).max_event_time == 7
    assert Progress(8, 9, 7).max_event_time == 8
