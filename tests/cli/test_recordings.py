"""`muntin replay` and `muntin shrink`: a recorded query, run again in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin import tumbling
from muntin.testing import Script
from muntin_cli.recordings import condition
from muntin_stats import Sum
from tests.cli.running import Run
from tests.engine.recording.recorded import recorded
from tests.modules.merged_states import Merged
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario

STREAM = (
    Script()
    # .point(event, time, value)
    .point(1, 2, 5, key="a").point(2, 3, 7, key="b").batch()
    .point(3, 14, 1, key="a").punctuate(10).batch()
    .point(4, 16, 8, key="a").close()
)  # fmt: skip


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The recording of sums over windows of ten ticks, by key."""
    query = Query(tumbling(10), (Sum(),), lifetimes="points")
    scenario = Scenario(query, STREAM, Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0))
    recorded(scenario, "general", tmp_path / "recording")
    return tmp_path / "recording"


def test_a_replay_shows_results_by_micro_batch(recording: Path, muntin: Run) -> None:
    done = muntin("replay", recording)
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


def test_a_replay_may_show_one_key_and_run_in_another_evaluator(recording: Path, muntin: Run) -> None:
    done = muntin("replay", recording, "--key", "b", "--evaluator", "columnar", "--json")
    assert done.data == [{"batch": 1, "key": "b", "window": {"start": 0, "end": 10}, "result": 7}]


def test_a_replay_in_all_evaluators_says_whether_their_results_are_the_same(recording: Path, muntin: Run) -> None:
    done = muntin("replay", recording, "--evaluators")
    assert done.output.startswith("columnar, sliced, grouped, general: the same")


def test_a_replay_in_an_unknown_evaluator_is_refused(recording: Path, muntin: Run) -> None:
    done = muntin("replay", recording, "--evaluator", "quick")
    assert done.code == 2
    assert "there is no evaluator 'quick'" in done.errors


def test_a_recording_shrinks_to_the_smallest_part_that_still_has_a_result(
    recording: Path, muntin: Run, tmp_path: Path
) -> None:
    done = muntin("shrink", recording, tmp_path / "small", "--where", "result > 6 and key == 'b'")
    assert done.code == 0, done.errors
    assert done.output.startswith("1 of 6 rows and ")
    assert "b    0 .. 10  7" in muntin("replay", tmp_path / "small").output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "what is to be shown is not said"),
        (("--fails",), "does not hold of the whole"),
    ],
)
def test_a_recording_shrinks_only_to_what_the_whole_shows(
    recording: Path, muntin: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in muntin("shrink", recording, tmp_path / "small", *options).errors


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("resutl > 6", "name 'resutl' is not defined"),
        ("result / 0 > 6", "division by zero"),
    ],
)
def test_a_condition_that_cannot_be_evaluated_is_refused_with_the_columns(
    recording: Path, muntin: Run, tmp_path: Path, text: str, reason: str
) -> None:
    done = muntin("shrink", recording, tmp_path / "small", "--where", text)
    assert done.code == 2
    expected = "expected: a condition on the columns key, window, result\n"
    assert done.errors == f"muntin: --where {text!r} cannot be evaluated: {reason}\n  {expected}"


def test_a_row_with_a_null_does_not_meet_a_condition_on_numbers() -> None:
    meets = condition("km > 6")
    assert not meets({"km": None})
    assert meets({"km": 7})


def test_a_smaller_recording_replaces_no_other(recording: Path, muntin: Run, tmp_path: Path) -> None:
    call = ("shrink", recording, tmp_path / "small", "--where", "result > 6")
    muntin(*call)
    assert "is there already" in muntin(*call).errors


def test_a_replay_takes_a_module_from_a_file_and_says_that_it_has_another_version(muntin: Run, tmp_path: Path) -> None:
    scenario = Scenario(Query(tumbling(10), (Merged(),), lifetimes="points"), STREAM, Mishaps(cuts=None))
    recorded(scenario, "general", tmp_path / "recording")
    file = tmp_path / "own.py"
    file.write_text("from tests.modules.merged_states import Merged\nclass Mine(Merged):\n    version = '2'\n")
    done = muntin("replay", tmp_path / "recording", "--module", file)
    assert "test.merged was 1, and is 2 here" in done.output


def test_a_folder_without_a_recording_is_refused(muntin: Run, tmp_path: Path) -> None:
    done = muntin("replay", tmp_path)
    assert done.code == 2
    assert "is not a recording" in done.errors
