"""`muntin replay` and `muntin shrink`: a recorded query, run again in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_stats import Sum
from tests.cli.running import Run
from tests.engine.recording.recorded import recorded
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

STREAM = (
    Script()
    .point(1, 2, 5, key="a").point(2, 3, 7, key="b").batch()
    .point(3, 14, 1, key="a").punctuate(10).batch()
    .point(4, 16, 8, key="a").close()
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    query = Query(tumbling(10), (Sum(),), lifetimes="points")
    scenario = Scenario(query, STREAM, Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    recorded(scenario, "general", tmp_path / "recording")
    return tmp_path / "recording"


def test_a_replay_shows_results_by_micro_batch(folder: Path, muntin: Run) -> None:
    done = muntin("replay", folder)
    assert done.code == 0, done.errors
    assert done.output.splitlines() == [
        "micro-batch  key  window    result",
        "1            a    0 .. 10   5",
        "1            b    0 .. 10   7",
        "2            a    10 .. 20  9",
        "",
        "3 results, no late rows, no rejected rows of 6 recorded rows; micro-batches: 3",
        "evaluator general; the query can run in columnar, sliced, grouped, general",
    ]


def test_a_replay_of_one_key_in_another_evaluator(folder: Path, muntin: Run) -> None:
    done = muntin("replay", folder, "--key", "b", "--evaluator", "columnar", "--json")
    assert done.data == [{"batch": 1, "key": "b", "window": {"start": 0, "end": 10}, "result": 7}]
    assert muntin("replay", folder, "--evaluators").output.startswith("columnar, sliced, grouped, general: the same")
    unknown = muntin("replay", folder, "--evaluator", "quick")
    assert unknown.code == 2
    assert "there is no evaluator 'quick'" in unknown.errors


def test_the_smallest_part_that_still_has_a_result(folder: Path, muntin: Run, tmp_path: Path) -> None:
    done = muntin("shrink", folder, tmp_path / "small", "--where", "result > 6 and key == 'b'")
    assert done.code == 0, done.errors
    assert done.output.startswith("1 of 6 rows and ")
    assert "b    0 .. 10  7" in muntin("replay", tmp_path / "small").output
    again = muntin("shrink", folder, tmp_path / "small", "--where", "result > 6")
    assert "is there already" in again.errors
    assert "what is to be shown is not said" in muntin("shrink", folder, tmp_path / "other").errors
    assert "does not hold of the whole" in muntin("shrink", folder, tmp_path / "other", "--fails").errors


def test_a_module_of_a_file_is_found_there(muntin: Run, tmp_path: Path) -> None:
    from tests.modules.merged_states import Merged

    scenario = Scenario(Query(tumbling(10), (Merged(),), lifetimes="points"), STREAM, Mishaps(cuts=None))
    recorded(scenario, "general", tmp_path / "recording")
    file = tmp_path / "own.py"
    file.write_text("from tests.modules.merged_states import Merged\nclass Mine(Merged):\n    version = '2'\n")
    done = muntin("replay", tmp_path / "recording", "--module", file)
    assert "test.merged was 1, and is 2 here" in done.output


def test_what_is_no_recording_is_said(muntin: Run, tmp_path: Path) -> None:
    done = muntin("replay", tmp_path)
    assert done.code == 2
    assert "is not a recording" in done.errors
