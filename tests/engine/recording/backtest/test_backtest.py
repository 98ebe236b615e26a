"""Two versions of a module over the same rows: what differs is found, and only that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pytest

from muntin import (
    Aggregate,
    ClipPolicy,
    EmitPolicy,
    Event,
    IncrementalAggregate,
    Operator,
    Window,
    hopping,
    session,
    tumbling,
)
from muntin.errors import ModuleFailedError, QueryError
from muntin.testing import Script
from muntin_engine import Recording, RecordingError, backtest, events, module
from muntin_engine.state.frozen_values import freeze
from tests.engine.recording.chained import BUCKET_SOURCES, Reading, chained
from tests.engine.recording.recorded import RecordedRun, arrivals, recorded, recorded_from_second_batch
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.join import Join
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.stepping import NO_MISHAPS
from tests.scenarios.streams import scenario_of
from tests.scenarios.windows import WINDOWS

RECORDED_FAMILIES: Final = [family for family in FAMILIES if family not in ("upgraded", "hostile")]
FIRST_RIDE: Final = datetime(2024, 5, 1)  # noqa: DTZ001  # a time on a clock
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001


class Total(Aggregate[int, int]):
    """A sum."""

    name, version = "test.total", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class OddTotal(IncrementalAggregate[int, list[int], int | None]):
    """A sum with a state, which is null where it is even, and one too large where it can be divided by three."""

    name, version = "test.total", "2"

    def create_state(self) -> list[int]:
        return [0]

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [state[0] + sum(payloads)]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [state[0] + other[0]]

    def compute_result(self, state: list[int]) -> int | None:
        if state[0] % 2 == 0:
            return None
        return state[0] + (state[0] % 3 == 0)


# ------------------------------------------------------------------------------------------------------ random streams


@pytest.mark.cases(9)
@pytest.mark.parametrize("family", RECORDED_FAMILIES)
def test_a_version_differs_nowhere_from_itself_and_a_join_has_no_module_to_replace(family: str, tmp_path: Path) -> None:
    scenario = drawn(family, 1)
    assert isinstance(scenario, Scenario)
    for evaluator in scenario.query.evaluators:
        _, recording = recorded(scenario, evaluator, tmp_path / evaluator)
        if isinstance(scenario.query, Join):
            with pytest.raises(RecordingError, match="it runs none, as a join"):
                backtest(recording, {"test.total": Total})
            continue

        modules = {module.name: module for module in scenario.query.modules}
        assert len(modules) == len(scenario.query.modules), "modules of one name are replaced by one"
        result = backtest(recording, modules)
        assert (result.differing, result.differences.num_rows) == (0, 0)
        assert result.old.results == result.new.results == len(recording.replay().results)
        assert result.old.evaluator == result.new.evaluator == evaluator


@pytest.mark.cases(8)
@pytest.mark.parametrize("emit", list(EmitPolicy))
@pytest.mark.parametrize("lifetimes", ["points", "named"])
@pytest.mark.parametrize("seed", range(4))
def test_the_differences_are_those_of_two_replays(
    emit: EmitPolicy, lifetimes: Lifetimes, seed: int, tmp_path: Path
) -> None:
    random = Random(f"{emit} {lifetimes} {seed}")
    query = Query(WINDOWS[random.choice(list(WINDOWS))], (Total(),), emit=emit, lifetimes=lifetimes)
    _, recording = recorded(scenario_of(random, query), "general", tmp_path / "recording")
    result = backtest(recording, {"test.total": OddTotal})

    old_results = results_by_window(recording.replay().results)
    new_results = results_by_window(recording.with_modules({"test.total": OddTotal}).replay().results)
    expected: dict[Any, Any] = {}
    for window in old_results.keys() | new_results.keys():
        old = old_results.get(window)
        new = new_results.get(window)
        if old != new:
            expected[window] = (old, new)

    differences = result.differences.to_pylist()
    assert {window_of(row): (row["old"], row["new"]) for row in differences} == expected
    assert result.differing == len(differences) == len(expected)
    sizes = [abs(row["difference"]) for row in differences if row["difference"] is not None]
    assert sizes == sorted(sizes, reverse=True)


def results_by_window(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    """Return the results of an output by their keys and windows."""
    return {window_of(row): row["result"] for row in rows}


def window_of(row: Mapping[str, Any]) -> Any:
    """Return the key and the window of a row, so that they can be looked up."""
    return freeze((row["key"], row["window"]))


# ---------------------------------------------------------------------------------------------------- planted in tables


class Ride(NamedTuple):
    """A payload that has its key in it."""

    station: str
    km: float


class Kilometers(Aggregate[Ride, float]):
    """The sum of kilometers, which is half a kilometer too long in one window of one station.

    Args:
        station: The station; by default there is no such window.
        start: The start of the window.
    """

    name, version = "test.kilometers", "1"
    is_time_sensitive = True

    def __init__(self, station: str = "", start: int = -1) -> None:
        self.station = station
        self.start = start

    def compute_result(self, events: Sequence[Event[Ride]], window: Window) -> float:
        kilometers = sum(event.payload.km for event in events)
        if events[0].payload.station == self.station and window.start == self.start:
            kilometers += 0.5
        return kilometers


def rides(random: Random, count: int = 60) -> pa.Table:
    """Draw rides of ten hours from three stations."""
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        leaves = FIRST_RIDE + timedelta(minutes=random.randrange(600))
        rows.append({"station": random.choice(["north", "south", "west"]), "leaves": leaves, "km": random.random()})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("emit", ["final", "eager"])
@pytest.mark.parametrize("window", [tumbling("1 hour"), hopping("2 hours", "30 minutes"), session("20 minutes")])
def test_a_planted_difference_is_found_and_only_it(window: Any, emit: str) -> None:
    random = Random(f"{window} {emit}")
    windows = events(rides(random), key="station", at="leaves").window(window, emit=emit)
    query = windows.aggregate(km=module(Kilometers, "station", "km"), n=module(Total, "1"))
    planted = random.choice(query.results().to_pylist())
    start = int((planted["window"]["start"] - EPOCH) / timedelta(microseconds=1))
    result = backtest(query, {"test.kilometers": Kilometers(planted["station"], start)}, fail_if="new > old")

    # An eager session with this start had other results before it grew; only the last ones are compared.
    (difference,) = result.differences.to_pylist()
    assert result.differing == result.failing.num_rows == 1
    assert (difference["key"], difference["window"]["start"]) == (planted["station"], planted["window"]["start"])
    assert difference["difference"] == pytest.approx(0.5)
    assert result.notes == ("both versions are called test.kilometers 1",)


def test_several_key_columns_are_one_key() -> None:
    table = rides(Random(1)).append_column("line", pa.array([1, 2] * 30))
    days = events(table, key=["station", "line"], at="leaves").window(tumbling("1 day"))
    result = backtest(days.aggregate(km=module(Sum1, "km")), {"test.sum": Sum2})
    assert result.differing == 6, "each of two lines at three stations"
    for row in result.differences.to_pylist():
        assert list(row["key"]) == ["station", "line"]


def test_the_results_of_a_query_without_a_key_have_no_key() -> None:
    days = events(rides(Random(1)), at="leaves").window(tumbling("1 day"))
    (row,) = backtest(days.aggregate(km=module(Sum1, "km")), {"test.sum": Sum2}).differences.to_pylist()
    assert row["key"] is None


class Sum1(Aggregate[float, float]):
    name, version = "test.sum", "1"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads)


class Sum2(Sum1):
    """The sum and one."""

    name, version = "test.sum", "2"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads) + 1


# -------------------------------------------------------------------------------------------------- what is not a match


THREE_POINTS: Final = (
    Script()  # id, time, payload
    .point(1, 2, 5, key="a")
    .point(2, 3, 7, key="b")
    .batch()
    .point(3, 14, 1, key="a")
    .close()
)


def record(folder: Path, *modules: Any, stream: Script = THREE_POINTS) -> Recording:
    """Record a query over windows of 10 ticks with these modules."""
    query = Query(tumbling(10), modules, lifetimes="points")
    _, recording = recorded(Scenario(query, stream, NO_MISHAPS), "general", folder)
    return recording


class Numbered(NamedTuple):
    """A row of an operator."""

    number: int
    place: int


class Numbers(Operator[int, Numbered]):
    """The numbers of a window in order."""

    name, version = "test.numbers", "1"

    def compute_result(self, payloads: Sequence[int]) -> list[Numbered]:
        return [Numbered(number, 0) for number in sorted(payloads)]


class LargeNumbers(Numbers):
    """The numbers above 1."""

    version = "2"

    def compute_result(self, payloads: Sequence[int]) -> list[Numbered]:
        return [Numbered(number, 0) for number in sorted(payloads) if number > 1]


class OfText(Aggregate[str, int]):
    name, version = "test.of_text", "1"

    def compute_result(self, payloads: Sequence[str]) -> int:
        return len(payloads)


class FloatTotal(Aggregate[int, float]):
    name, version = "test.float_total", "1"

    def compute_result(self, payloads: Sequence[int]) -> float:
        return float(sum(payloads))


def test_types_that_differ_are_said_and_numbers_compared(tmp_path: Path) -> None:
    result = backtest(record(tmp_path / "r", Total()), {"test.total": FloatTotal})
    assert result.differing == 0
    assert result.notes == ("result was int64, and is double: they are compared as numbers",)


class Spelled(Aggregate[int, str]):
    """The sum as text, which is one too large if 5 is in it."""

    name, version = "test.spelled", "1"

    def compute_result(self, payloads: Sequence[int]) -> str:
        return str(sum(payloads) + (5 in payloads))


def test_a_number_and_a_text_are_compared_as_text(tmp_path: Path) -> None:
    result = backtest(record(tmp_path / "r", Total()), {"test.total": Spelled})
    assert [(row["old"], row["new"], row["difference"]) for row in result.differences.to_pylist()] == [("5", "6", None)]
    assert result.columns[0].distribution is None
    assert "compared as text" in result.notes[0]


class Picky(Total):
    """The sum, which fails on 7."""

    version = "3"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads:
            raise ValueError("an unlucky number")
        return sum(payloads)


def test_an_error_says_whether_the_old_or_the_new_version_failed(tmp_path: Path) -> None:
    recording = record(tmp_path / "r", Total())
    with pytest.raises(ModuleFailedError, match=r"^the new version: test.total 3 failed in .*unlucky(.|\n)*key: .*'b'"):
        backtest(recording, {"test.total": Picky})

    with_failing_old_version = recording.with_modules({"test.total": Picky})
    with pytest.raises(ModuleFailedError, match=r"^the old version: test.total 3"):
        backtest(Recording(with_failing_old_version.path, modules=[Picky]), {"test.total": Total})


def test_an_error_of_the_old_version_over_tables_is_told_as_one() -> None:
    days = events(rides(Random(2)), key="station", at="leaves").window(tumbling("1 day"))
    with pytest.raises(ModuleFailedError, match=r"^the old version: test.broken 1"):
        backtest(days.aggregate(n=module(Broken, "km")), {"test.broken": Sum1})


class Broken(Aggregate[float, float]):
    name, version = "test.broken", "1"

    def compute_result(self, payloads: Sequence[float]) -> float:
        raise ValueError("always")


def test_a_micro_batch_that_failed_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    stream = Script().point(1, 2, 5).punctuate(10).batch().point(2, 12, 7).punctuate(20).close()
    scenario = Scenario(Query(tumbling(10), (Picky(),), lifetimes="points"), stream, NO_MISHAPS)
    run = RecordedRun(scenario, "general", tmp_path / "r")
    first, second, *_ = arrivals(scenario)
    run.process(first)
    with pytest.raises(ModuleFailedError):
        run.process(second)  # which has a 7

    recording = Recording(tmp_path / "r", modules=[Picky()])
    assert recording.unfinished is not None
    result = backtest(recording, {"test.total": Total})
    assert result.differing == 0
    assert "the micro-batch that was not committed at the end of the recording is not compared" in result.notes


def test_a_recording_without_rows_has_no_differences(tmp_path: Path) -> None:
    query = Query(tumbling(10), (Total(),), lifetimes="points")
    RecordedRun(Scenario(query, Script().close(), NO_MISHAPS), "general", tmp_path / "r")  # processes no micro-batch
    result = backtest(Recording(tmp_path / "r", modules=[Total]), {"test.total": OddTotal}, fail_if="true")
    assert (result.rows, result.differing, result.failing.num_rows) == (0, 0, 0)
    assert result.notes == ("the recording has no rows",)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"test.totla": OddTotal}, r"runs no module 'test.totla'\n  it runs test.total, test.float_total"),
        ({}, "no module is replaced"),
        ({"test.total": Numbers}, r"cannot take the place of test.total 1"),
        ({"test.total": OfText}, r"the new version cannot run in the recorded query: (.|\n)*str"),
        ({"test.total": 3}, "3 is no module"),
    ],
    ids=["unknown name", "none", "an operator for an aggregate", "another type of payloads", "no module"],
)
def test_modules_that_cannot_replace_one_of_the_query_are_refused(
    modules: dict[str, Any], message: str, tmp_path: Path
) -> None:
    recording = record(tmp_path / "r", Total(), FloatTotal())
    with pytest.raises(RecordingError, match=message):
        backtest(recording, modules)


def test_a_query_of_a_chain_is_run_by_itself(tmp_path: Path) -> None:
    stream = Script()
    for number in range(20):
        stream = stream.point(number, 3 * number, number, key="ab"[number % 2])
        if number % 4 == 3:
            stream = stream.batch().punctuate(3 * number)
    first = Query(tumbling(10), (Total(),), lifetimes="points")
    second = Reading(tumbling(30), (Spelled(),), lifetimes="intervals", sources=BUCKET_SOURCES)
    scenario = Scenario(first, stream.close(), NO_MISHAPS)
    _, recording = chained(scenario, second, tmp_path / "r", is_regrouped=False)

    # the second query
    with pytest.raises(RecordingError, match=rf"it runs test.spelled\n(.|\n)*of its own: {tmp_path / 'r'}"):
        backtest(recording, {"test.total": OddTotal})
    assert backtest(recording, {"test.spelled": Spelled}).differing == 0

    # the first query
    assert backtest(recording.upstream[0], {"test.total": Total}).differing == 0
    assert backtest(recording.upstream[0], {"test.total": OddTotal}).differing > 0


def test_a_condition_that_cannot_be_evaluated_is_refused_before_anything_runs(tmp_path: Path) -> None:
    recording = record(tmp_path / "r", Total())
    with pytest.raises(QueryError, match=r"'nwe > 1' cannot be evaluated for result: .*nwe(.|\n)*over key, window"):
        backtest(recording, {"test.total": Picky}, fail_if="nwe > 1")  # Picky would fail


@pytest.mark.parametrize(
    "condition",
    ["old IN (SELECT content FROM read_text('/etc/hostname'))", "1) OR (SELECT 1 FROM recording"],
    ids=["reads a file", "reads a variable"],
)
def test_a_condition_that_reads_anything_but_a_difference_is_refused(condition: str, tmp_path: Path) -> None:
    recording = record(tmp_path / "r", Total())  # the variable that the second condition names
    with pytest.raises(QueryError, match="cannot be evaluated"):
        backtest(recording, {"test.total": OddTotal}, fail_if=condition)


@pytest.mark.parametrize(
    ("condition", "failing"),
    [("key = 'a' AND \"window\".start < 10 AND kind = 'changed'", ["6"]), ("key = 'b'", [])],
    ids=["of the difference", "of no difference"],
)
def test_only_differences_that_meet_the_condition_are_failing(
    condition: str, failing: list[str], tmp_path: Path
) -> None:
    result = backtest(record(tmp_path / "r", Total()), {"test.total": Spelled}, fail_if=condition)
    assert result.differing == 1
    assert result.failing.column("new").to_pylist() == failing


def test_a_row_that_an_operator_leaves_out_is_one_difference(tmp_path: Path) -> None:
    stream = Script().point(1, 2, 1).point(2, 3, 2).point(3, 4, 3).close()  # id, time, payload
    result = backtest(record(tmp_path / "r", Numbers(), stream=stream), {"test.numbers": LargeNumbers})
    assert result.differing == 1
    assert [(row["column"], row["kind"], row["old"]) for row in result.differences.to_pylist()] == [
        ("number", "only old", 1),
        ("place", "only old", 0),
    ]


def test_windows_before_a_state_are_not_compared(tmp_path: Path) -> None:
    query = Query(tumbling(10), (Total(),), lifetimes="points")
    stream = Script()
    for number in range(8):
        stream = stream.point(number, 7 * number, number, key="a").batch()
    recording = recorded_from_second_batch(Scenario(query, stream.close(), NO_MISHAPS), "general", tmp_path)

    result = backtest(recording, {"test.total": OddTotal})
    assert any("or before are not compared" in note for note in result.notes)
    starts = {row["window"]["start"] for row in result.differences.to_pylist()}
    assert starts
    assert min(starts) >= 10, "the state has an event of [0, 10)"


def test_windows_over_an_event_of_a_state_are_not_compared(tmp_path: Path) -> None:
    query = Query(tumbling(10), (Total(),), lifetimes="intervals")
    stream = Script().insert(0, 0, 25, 100, key="a").batch()
    for number in range(1, 8):
        stream = stream.insert(number, 7 * number, 7 * number + 5, number, key="a").batch()
    recording = recorded_from_second_batch(Scenario(query, stream.close(), NO_MISHAPS), "general", tmp_path)

    result = backtest(recording, {"test.total": OddTotal})
    starts = {row["window"]["start"] for row in result.differences.to_pylist()}
    assert starts
    assert min(starts) >= 30, "the event of the state is in windows up to [20, 30)"
    (note,) = [note for note in result.notes if "are not compared" in note]
    assert "and later ones of a key while events from before count" in note


class MergedSum(IncrementalAggregate[float, float, float]):
    """A sum with a state that is merged."""

    name, version = "test.sum", "3"

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> float:
        return state + sum(payloads)

    def combine(self, state: float, other: float) -> float:
        return state + other

    def compute_result(self, state: float) -> float:
        return state


class SumOfEvents(Aggregate[float, float]):
    """A sum that sees lifetimes, clipped to the window."""

    name, version = "test.sum", "4"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[float]], window: Window) -> float:
        return sum(event.payload for event in events)


def test_versions_of_other_properties_run_over_the_same_windows() -> None:
    windows = events(rides(Random(3)), key="station", at="leaves").window(hopping("2 hours", "1 hour"))
    query = windows.aggregate(km=module(Sum1, "km"))

    merged = backtest(query, {"test.sum": MergedSum}, fail_if="abs(new - old) > 1e-9")
    assert (merged.old.evaluator, merged.new.evaluator) == ("grouped", "sliced")
    assert merged.old.results == merged.new.results
    assert merged.failing.num_rows == 0

    clipped = backtest(query, {"test.sum": SumOfEvents}, fail_if="abs(new - old) > 1e-9")
    assert clipped.failing.num_rows == 0
    assert clipped.notes == ("the old version runs with clip='none', and the new one with clip='full'",)


def test_a_few_lines_say_what_was_compared_and_time_and_state_are_measured(tmp_path: Path) -> None:
    result = backtest(record(tmp_path / "r", Total()), {"test.total": Spelled})
    assert str(result).splitlines()[:4] == [
        "test.total 1 (old) and test.spelled 1 (new) over 4 rows",
        "3 results (old) and 3 (new), of which 1 differs",
        "compared: result by key, window, as results are in the end",
        "result: 1 changed, 0 only old, 0 only new",
    ]
    assert result.old.processor_seconds > 0
    assert result.old.state_bytes > 0
