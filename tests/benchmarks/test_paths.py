"""The count of files and functions that a query passes through."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paths import traced
from muntin_engine.state.codec import Codec


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


def test_a_call_into_another_file_is_a_change_of_file_and_a_comprehension_is_part_of_its_function() -> None:
    with traced() as trace:
        Codec([Pair, Pair])
    assert trace.files == {"state/codec.py": 1, "state/records.py": 2}
    assert [code.co_name for code in trace.functions] == ["__init__", "record_name"]
    assert trace.changes.total() == 2


def test_nothing_is_counted_after_the_trace() -> None:
    with traced() as trace:
        pass
    Codec([Pair])
    assert not trace.functions
