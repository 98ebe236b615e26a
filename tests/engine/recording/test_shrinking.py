"""The smallest part of a recording that still shows something, written as a recording of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from muntin import Aggregate, tumbling
from muntin.errors import ModuleFailedError
from muntin.testing import Script
from muntin_engine import Recording, RecordingError
from tests.engine.recording.recorded import program_modules, recorded
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario


class Fragile(Aggregate[int, int]):
    """The sum, which fails if 13 and 7 are in one window."""

    name, version = "test.fragile", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if {7, 13} <= set(payloads) and self.fails:
            raise ValueError("7 and 13")
        return sum(payloads)

    fails = False


STREAM = Script()
for number in range(40):
    STREAM = STREAM.point(number, number, number, key="abc"[number % 3])
    STREAM = STREAM.batch().punctuate(number) if number % 4 == 3 else STREAM
STREAM = STREAM.close()


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    query = Query(tumbling(20), (Fragile(),), lifetimes="points")
    scenario = Scenario(query, STREAM, Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    _, recording = recorded(scenario, "general", tmp_path / "recording")
    return recording


def insertions(recording: Recording) -> list[Any]:
    """Return the insertions of a recording."""
    insertions: list[Any] = []
    for batch in recording.batches:
        for part in batch.parts:
            insertions += [row for row in part.rows.to_pylist() if row["change"] == "insert"]
    return insertions


def test_rows_that_a_failure_does_not_need_go(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fragile, "fails", True)
    with pytest.raises(ModuleFailedError, match="7 and 13"):
        recording.replay()
    small = recording.shrink()
    assert [row["i0"] for row in insertions(small)] == [7, 13]
    assert all(row["k0"] == "b" for row in insertions(small))
    small.save(tmp_path / "small")
    again = Recording(tmp_path / "small", modules=program_modules(recording.plan))
    with pytest.raises(ModuleFailedError, match="7 and 13"):
        again.replay()
    with pytest.raises(RecordingError, match="is there already"):
        small.save(tmp_path / "small")


def test_rows_that_a_result_does_not_need_go(recording: Recording) -> None:
    def has_a_large_sum(replayed: Any) -> bool:
        return any(row["result"] > 170 for row in replayed.results)

    small = recording.shrink(has_a_large_sum)
    (row,) = small.replay().results
    assert row["result"] > 170
    left_payloads = [row["i0"] for row in insertions(small)]
    assert all(sum(left_payloads) - payload <= 170 for payload in left_payloads)
    with pytest.raises(RecordingError, match="does not hold of the whole"):
        recording.shrink(lambda replayed: len(replayed.results) > 100)


def test_rows_that_go_move_no_watermark(recording: Recording) -> None:
    of_b = recording.with_batches(batch.of_keys(["b"]) for batch in recording.batches)
    whole = recording.replay()
    part = of_b.replay()
    assert [batch.metrics["watermark"] for batch in part.batches] == [
        batch.metrics["watermark"] for batch in whole.batches
    ]
    assert part.changes == [row for row in whole.changes if row["key"] == "b"]
    assert part.changes


def test_a_condition_and_an_evaluator_together_are_refused(recording: Recording) -> None:
    with pytest.raises(RecordingError, match=r"takes a condition or an evaluator, and got both(.|\n)*give one of them"):
        recording.shrink(lambda replayed: bool(replayed.results), differs="general")
