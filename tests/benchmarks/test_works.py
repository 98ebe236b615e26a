"""The works, as declared."""

from __future__ import annotations

from benchmarks.bars import AtMost, Growth, NoLater, Rate, Times
from benchmarks.systems import all_systems
from benchmarks.works import WORKS


def test_every_system_of_a_work_exists_and_every_system_takes_part_in_one() -> None:
    named = {system for work in WORKS for system in work.systems}
    assert named == set(all_systems({}))


def test_names_of_works_differ() -> None:
    assert len({work.name for work in WORKS}) == len(WORKS) > 5


def test_bars_quick_runs_and_file_counts_are_about_systems_of_the_work() -> None:
    for work in WORKS:
        subjects = {bar.subject for bar in work.bars if isinstance(bar, Times | Growth | Rate | NoLater | AtMost)}
        against = {bar.against for bar in work.bars if isinstance(bar, Times | NoLater)}
        assert subjects | against | {*work.quick, *work.files} <= {*work.systems}
        assert all(bar.subject in work.quick for bar in work.bars[:1] if work.quick and isinstance(bar, Times))


def test_fewer_rows_have_fewer_keys_and_the_title_says_so() -> None:
    work = WORKS[0]
    assert work.data(1_000_000).keys == 10_000
    assert work.data(100_000).keys == 1_000
    assert work.title(100_000) == "average, 1,000 keys, hopping 600 s / 10 s"


def test_a_work_has_files_of_its_own_size_and_number() -> None:
    work = next(work for work in WORKS if work.name == "one-row")
    assert (work.data(1_000_000).rows, work.data(1_000).rows, work.data(1_000).files) == (1, 1, 16)
    assert work.files_of("spark window") == 16
    half = next(work for work in WORKS if work.name == "hopping-revised")
    assert half.data(100_000).rows == 50_000
