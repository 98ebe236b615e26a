"""The command line."""

from __future__ import annotations

import pytest

from benchmarks.options import ENVIRONMENTS, read_options
from benchmarks.works import COLUMNAR, SPARK, WORKS


@pytest.fixture(autouse=True)
def no_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENTS, raising=False)


def test_without_options_everything_runs_twice() -> None:
    options = read_options([])
    assert [work for work, _ in options.works] == [work for work in WORKS if not work.is_long]
    assert all(work.systems == names for work, names in options.works)
    assert (options.rows, options.repeats, options.rows_are_few) == (1_000_000, 2, False)


def test_a_quick_run_has_a_tenth_of_the_rows_and_the_main_pairs_once() -> None:
    options = read_options(["--quick"])
    assert (options.rows, options.repeats, options.rows_are_few) == (100_000, 1, True)
    assert 1 < len(options.works) < len(WORKS)
    assert all(names == work.quick for work, names in options.works)


def test_a_work_that_is_named_runs_whole_in_a_quick_run_too() -> None:
    ((work, names),) = read_options(["--quick", "--only", "hopping-600-60"]).works
    assert (work.name, names) == ("hopping-600-60", work.systems)


def test_a_long_work_runs_where_it_is_named() -> None:
    ((work, _),) = read_options(["--only", "static-50-million"]).works
    assert work.is_long


def test_works_without_a_system_that_is_named_are_left_out() -> None:
    options = read_options(["--systems", SPARK, "--systems", COLUMNAR, "--rows", "20_000", "--repeats", "2"])
    assert {name for _, names in options.works for name in names} == {SPARK, COLUMNAR}
    assert (options.rows, options.repeats) == (20_000, 2)


def test_environments_come_from_options_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENTS, "bytewax=a/python,beam=b/python")
    options = read_options(["--environment", "beam=c/python"])
    assert options.environments == {"bytewax": "a/python", "beam": "c/python"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--environment", "bytewax"], "names no environment"),
        (["--environment", "storm=python"], "expected NAME=PYTHON, with one of flink, bytewax, pathway, beam, pyflink"),
        (["--rows", "0"], "expected a number above zero"),
        (["--only", "nothing"], "invalid choice"),
        (["--only", "smaller-hops", "--systems", SPARK], "no work is left"),
    ],
)
def test_a_wrong_option_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_options(arguments)
    assert said in capsys.readouterr().err
