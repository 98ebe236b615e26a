"""`make torture` runs its kinds, and says of each trial that failed how to see it again."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.torture import bad_kinds
from tests.torture.__main__ import main
from tests.torture.kind import Kind, Lane, load_kinds
from tests.torture.kinds import KINDS
from tests.torture.lane import run_lane, run_trial

pytestmark = pytest.mark.nightly

BAD = "tests.torture.bad_kinds:KINDS"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind_has_a_trial_and_says_what_it_does(kind: Kind) -> None:
    assert callable(kind.load())
    assert kind.description.endswith(".")
    assert kind.share > 0


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.lane is Lane.PYTHON], ids=lambda kind: kind.name)
def test_a_trial_without_spark_goes_through_something(kind: Kind) -> None:
    assert any(run_trial(kind, seed=4).values())


def test_names_of_kinds_are_unique() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)


def test_a_lane_gives_each_kind_its_share_and_reports_the_end_of_each_trial() -> None:
    """Of the two kinds, one always ends well, and the other fails with every seed that is a multiple of three."""
    output = io.StringIO()
    kinds = [kind for kind in bad_kinds.KINDS if kind.lane is Lane.PYTHON]
    run_lane(kinds, seed=3, seconds=0.2, reports=output)
    reports = [json.loads(line) for line in output.getvalue().splitlines()]
    begun = [report for report in reports if report["event"] == "begins"]
    ended = [report for report in reports if report["event"] != "begins"]
    assert len(begun) > 2
    assert [report["seed"] for report in begun] == list(range(3, 3 + len(begun)))
    assert {report["kind"] for report in begun} == {"fine", "differs"}
    for beginning, end in zip(begun, ended, strict=True):
        assert (end["kind"], end["seed"]) == (beginning["kind"], beginning["seed"])
        assert (end["event"] == "failed") == (end["kind"] == "differs" and end["seed"] % 3 == 0)


def test_a_run_with_faults_shows_them_with_the_command_to_see_them_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.001", "--seed", "3", "--kinds", BAD]) == 1
    output = capsys.readouterr().out
    assert output.startswith("seed 3, 0.001 minutes, 4 kinds")

    # kind, trials, seconds, faults, what they went through
    columns_by_kind = {line.split("  ")[0]: line.split() for line in output.splitlines()}
    _, _, _, faults, *went_through = columns_by_kind["fine"]
    assert faults == "0"
    assert went_through[-1] == "sheep"
    for kind in ("dies", "hangs"):
        _, trials, _, faults, *_ = columns_by_kind[kind]
        assert int(trials) == int(faults) > 0
    assert "its process ended with 7" in output
    assert "it hung for 0 seconds" in output

    # Of many faults, some are shown.
    assert re.search(r"again: make torture MINUTES=0 KIND=(dies|hangs|differs) SEED=\d+", output)


def test_a_run_without_faults_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0.001", "--kind", "fine", "--kinds", BAD]) == 0
    assert "sheep" in capsys.readouterr().out


def test_a_trial_is_seen_again_by_its_kind_and_seed(capsys: pytest.CaptureFixture[str]) -> None:
    again = ["--minutes", "0", "--kinds", BAD, "--kind", "differs"]
    assert main([*again, "--seed", "4"]) == 0
    assert capsys.readouterr().out == "differs, seed 4: {'sheep': 1}\n"
    with pytest.raises(AssertionError, match="seed 6 is a multiple of three"):
        main([*again, "--seed", "6"])


def test_kinds_come_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from tests.torture.bad_kinds import KINDS as ALL\nMINE = ALL[:1]\nNONE = [3]\n"
    (tmp_path / "kinds_of_mine.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert [kind.name for kind in load_kinds("kinds_of_mine:MINE")] == ["fine"]
    with pytest.raises(ValueError, match="'kinds_of_mine:NONE' is no list of kinds"):
        load_kinds("kinds_of_mine:NONE")


def test_a_name_that_no_kind_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--kind", "sheep"])
    assert ended.value.code == 2
    assert "no kind is named 'sheep'\nthere are: streams," in capsys.readouterr().err
