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


def test_the_bars_are_those_of_the_issue() -> None:
    assert [(work.name, str(bar)) for work in WORKS for bar in work.bars] == [
        ("hopping-600-10", "muntin columnar >= 9 x spark window end to end"),
        ("hopping-600-10", "muntin columnar >= 25 x spark window per warm batch"),
        ("hopping-600-60", "muntin columnar >= 2.2 x spark window end to end"),
        ("hopping-600-60", "muntin columnar >= 4 x spark window per warm batch"),
        ("tumbling-60", "muntin columnar >= 1 x spark window end to end"),
        ("tumbling-60", "muntin columnar >= 1.3 x spark window per warm batch"),
        ("tumbling-60", "muntin sliced >= 3 x transformWithState end to end"),
        ("tumbling-60-many-keys", "muntin columnar >= 3.5 x spark window end to end"),
        ("tumbling-60-many-keys", "muntin sliced >= 3 x transformWithState end to end"),
        ("max-hopping-600-10", "muntin columnar >= 8 x spark window end to end"),
        ("smaller-hops", "muntin columnar: per warm batch grows < 1.5 x over the windows"),
        ("state-written", "muntin columnar: state written per warm batch and slice grows < 1.5 x over the windows"),
        ("session-20", "muntin columnar >= 3 x spark window end to end"),
        ("session-20", "muntin sliced >= 1 x spark window end to end"),
        ("session-20-zipf", "muntin sliced >= 1 x spark window end to end"),
        ("snapshots", "muntin columnar >= 8 x muntin general per warm batch"),
        ("snapshots", "muntin columnar >= 400,000 rows/s in a warm batch"),
        ("snapshots", "columnar snapshots >= 1,000,000 rows/s"),
        ("snapshots-many-keys", "muntin columnar >= 400,000 rows/s in a warm batch"),
        ("snapshots-many-keys", "columnar snapshots >= 1,000,000 rows/s"),
        ("snapshots-revised", "muntin columnar >= 5 x muntin general per warm batch"),
        ("snapshots-revised", "muntin columnar >= 125,000 rows/s in a warm batch"),
        ("snapshots-revised", "columnar snapshots >= 500,000 rows/s"),
        ("hopping-revised", "muntin >= 150,000 rows/s in a warm batch"),
        ("hopping-revised", "columnar hops >= 300,000 rows/s"),
        ("hopping-revised-speculative", "muntin >= 75,000 rows/s in a warm batch"),
        ("tumbling-lasting", "muntin general >= 150,000 rows/s in a warm batch"),
        ("general-in-process", "general, non-incremental >= 250,000 rows/s"),
        ("general-in-process", "general, incremental >= 250,000 rows/s"),
        ("open-window", "general, open window: state written over the bytes of the rows <= 2"),
        ("hot-key-tumbling", "one hot key: per warm batch <= 0.005"),
        ("hot-key-tumbling", "one hot key: per warm batch grows < 2 x over the windows"),
        ("hot-key-snapshot", "one hot key: per warm batch <= 0.005"),
        ("hot-key-snapshot", "one hot key: per warm batch grows < 2 x over the windows"),
        ("yahoo", "muntin >= 1 x spark sql end to end"),
        ("yahoo", "muntin >= 1 x spark sql per warm batch"),
        ("join", "muntin >= 1 x spark sql end to end"),
        ("join", "muntin >= 1 x spark sql per warm batch"),
        ("join", "muntin >= 1 x spark sql per second of processor time"),
        ("join", "muntin emits no row in a later micro-batch than spark sql"),
        ("one-pass", "muntin one pass >= 1 x muntin one by one end to end"),
        ("one-pass", "muntin one pass >= 1 x muntin one by one per second of processor time"),
        ("million-keys", "muntin columnar: per warm batch <= 3"),
        ("million-keys", "muntin sliced: per warm batch <= 4"),
        ("million-keys", "muntin general: first batch <= 12"),
        ("million-keys", "muntin columnar: memory of the largest worker <= 6e+08"),
        ("million-keys", "muntin sliced: memory of the largest worker <= 6e+08"),
        ("million-keys", "muntin general: memory of the largest worker <= 6e+08"),
        ("one-row", "muntin columnar >= 0.8 x transformWithState per warm batch"),
        ("static-600-10", "muntin static >= 20 x spark static window end to end"),
        ("static-60", "muntin static >= 0.9 x spark static window end to end"),
        ("static-50-million", "muntin static: memory of the largest worker <= 1e+09"),
        ("cores-60", "muntin columnar, 2 cores >= 1.7 x muntin columnar, 1 core per warm batch"),
        ("cores-600-10", "muntin columnar, 2 cores >= 1.7 x muntin columnar, 1 core per warm batch"),
    ]


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
