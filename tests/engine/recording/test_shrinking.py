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
from tests.engine.recording.recorded import program_modules, recorded, recorded_insertions
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS


class Fragile(Aggregate[int, int]):
    """The sum, which may fail where 7 and 13 are in one window."""

    name, version = "test.fragile", "1"

    fails = False  # while the query is recorded

    def compute_result(self, payloads: Sequence[int]) -> int:
        if {7, 13} <= set(payloads) and self.fails:
            raise ValueError("7 and 13")
        return sum(payloads)


def a_number_at_each_tick() -> Script:
    """Return the numbers from 0 to 39, each at its own tick, of three keys in turn; four make a micro-batch."""
    stream = Script()
    for number in range(40):
        stream = stream.point(number, number, number, key="abc"[number % 3])
        if number % 4 == 3:
            stream = stream.batch().punctuate(number)
    return stream.close()


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """The recording of sums over windows of 20 ticks; 7 and 13 are in the first window of the key `b`."""
    query = Query(tumbling(20), (Fragile(),), lifetimes="points")
    scenario = Scenario(query, a_number_at_each_tick(), NO_MISHAPS)
    _, recording = recorded(scenario, "general", tmp_path / "recording")
    return recording


def test_rows_that_a_failure_does_not_need_go(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fragile, "fails", True)
    with pytest.raises(ModuleFailedError, match="7 and 13"):
        recording.replay()

    small = recording.shrink()
    assert [(row["k0"], row["i0"]) for row in recorded_insertions(small)] == [("b", 7), ("b", 13)]

    small.save(tmp_path / "small")
    saved = Recording(tmp_path / "small", modules=program_modules(recording.plan))
    with pytest.raises(ModuleFailedError, match="7 and 13"):
        saved.replay()


def test_a_small_recording_is_not_saved_over_another_one(recording: Recording, tmp_path: Path) -> None:
    small = recording.with_batches(recording.batches[:1])
    small.save(tmp_path / "small")
    with pytest.raises(RecordingError, match="is there already"):
        small.save(tmp_path / "small")


def test_rows_that_a_result_does_not_need_go(recording: Recording) -> None:
    def has_a_large_sum(replayed: Any) -> bool:
        return any(row["result"] > 170 for row in replayed.results)

    small = recording.shrink(has_a_large_sum)
    (result,) = small.replay().results
    assert result["result"] > 170

    # without any of the rows that are left, the sum would not be large
    payloads = [row["i0"] for row in recorded_insertions(small)]
    assert all(sum(payloads) - payload <= 170 for payload in payloads)


def test_a_condition_that_does_not_hold_of_the_whole_recording_is_refused(recording: Recording) -> None:
    with pytest.raises(RecordingError, match="does not hold of the whole"):
        recording.shrink(lambda replayed: len(replayed.results) > 100)


def test_without_the_rows_of_other_keys_the_watermark_and_the_results_of_a_key_are_the_same(
    recording: Recording,
) -> None:
    recording_of_b = recording.with_batches(batch.of_keys(["b"]) for batch in recording.batches)
    whole = recording.replay()
    part = recording_of_b.replay()

    watermarks = [batch.metrics["watermark"] for batch in whole.batches]
    assert [batch.metrics["watermark"] for batch in part.batches] == watermarks
    assert part.changes == [row for row in whole.changes if row["key"] == "b"]
    assert part.changes


def test_a_condition_and_an_evaluator_together_are_refused(recording: Recording) -> None:
    with pytest.raises(RecordingError, match=r"takes a condition or an evaluator, and got both(.|\n)*give one of them"):
        recording.shrink(lambda replayed: bool(replayed.results), differs="general")
