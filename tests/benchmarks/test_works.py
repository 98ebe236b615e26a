"""The works, as declared."""

from __future__ import annotations

from benchmarks.bars import Growth, NoLater, Rate, Times
from benchmarks.systems import all_systems
from benchmarks.works import WORKS


def test_every_system_of_a_work_exists_and_every_system_takes_part_in_one() -> None:
    named = {system for work in WORKS for system in work.systems}
    assert named == set(all_systems({}))


def test_names_of_works_differ() -> None:
    assert len({work.name for work in WORKS}) == len(WORKS) > 5


def test_bars_quick_runs_and_file_counts_are_about_systems_of_the_work() -> None:
    for work in WORKS:
        subjects = {bar.subject for bar in work.bars if isinstance(bar, Times | Growth | Rate | NoLater)}
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
        ("session-20", "muntin columnar >= 3 x spark window end to end"),
        ("session-20", "muntin sliced >= 1 x spark window end to end"),
        ("session-20-zipf", "muntin sliced >= 1 x spark window end to end"),
        ("snapshots", "muntin columnar >= 8 x muntin general per warm batch"),
        ("snapshots", "columnar snapshots >= 1,000,000 rows/s"),
        ("snapshots-many-keys", "columnar snapshots >= 1,000,000 rows/s"),
        ("snapshots-revised", "muntin columnar >= 5 x muntin general per warm batch"),
        ("snapshots-revised", "columnar snapshots >= 500,000 rows/s"),
        ("max-hopping-600-10", "muntin columnar >= 8 x spark window end to end"),
        ("smaller-hops", "muntin columnar: per warm batch grows < 1.5 x over the windows"),
        ("state-written", "muntin columnar: state written per warm batch and slice grows < 1.5 x over the windows"),
        ("join", "muntin >= 1 x spark sql end to end"),
        ("join", "muntin >= 1 x spark sql per warm batch"),
        ("join", "muntin >= 1 x spark sql per second of processor time"),
        ("join", "muntin emits no row in a later micro-batch than spark sql"),
        ("one-pass", "muntin one pass >= 1 x muntin one by one end to end"),
        ("one-pass", "muntin one pass >= 1 x muntin one by one per second of processor time"),
        ("general-in-process", "general, non-incremental >= 60,000 rows/s"),
        ("general-in-process", "general, incremental >= 100,000 rows/s"),
    ]


def test_fewer_rows_have_fewer_keys_and_the_title_says_so() -> None:
    work = WORKS[0]
    assert work.data(1_000_000).keys == 10_000
    assert work.data(100_000).keys == 1_000
    assert work.title(100_000) == "average, 1,000 keys, hopping 600 s / 10 s"
