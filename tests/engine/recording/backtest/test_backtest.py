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
from tests.engine.recording.chained import Reading, chained
from tests.engine.recording.recorded import RecordedRun, arrivals, program_modules, recorded
from tests.scenarios.drawing import FAMILIES, drawn
from tests.scenarios.join import Join
from tests.scenarios.query import Lifetimes, Query
from tests.scenarios.running import Mishaps
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import scenario_of
from tests.scenarios.windows import WINDOWS

RECORDED: Final = [family for family in FAMILIES if family not in ("upgraded", "hostile")]
FIRST: Final = datetime(2024, 5, 1)  # noqa: DTZ001  # a time on a clock
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001
CALM: Final = Mishaps(disorder=False, cuts=None, restarts=0.0, crashes=0.0)


class Total(Aggregate[int, int]):
    """A sum."""

    name, version = "test.total", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sum(payloads)


class OddTotal(IncrementalAggregate[int, list[int], int | None]):
    """A sum with a state, which lacks even sums and adds one to some others."""

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
@pytest.mark.parametrize("family", RECORDED)
def test_a_version_differs_nowhere_from_itself(family: str, tmp_path: Path) -> None:
    scenario = drawn(family, 1)
    assert isinstance(scenario, Scenario)
    for evaluator in scenario.query.evaluators:
        _, recording = recorded(scenario, evaluator, tmp_path / evaluator)
        if isinstance(scenario.query, Join):
            with pytest.raises(RecordingError, match="it runs none, as a join"):
                backtest(recording, {"test.total": Total})
            continue
        modules = {each.name: each for each in scenario.query.modules}
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

    old_results = by_place(recording.replay().results)
    new_results = by_place(recording.with_modules({"test.total": OddTotal}).replay().results)
    expected = {}
    for place in old_results.keys() | new_results.keys():
        pair = (old_results.get(place), new_results.get(place))
        if pair[0] != pair[1]:
            expected[place] = pair
    rows = result.differences.to_pylist()
    assert {place_of(row): (row["old"], row["new"]) for row in rows} == expected
    assert result.differing == len(rows) == len(expected)
    sizes = [abs(row["difference"]) for row in rows if row["difference"] is not None]
    assert sizes == sorted(sizes, reverse=True)


def by_place(results: Sequence[Mapping[str, Any]]) -> dict[Any, Any]:
    return {place_of(row): row["result"] for row in results}


def place_of(row: Mapping[str, Any]) -> Any:
    return freeze((row["key"], row["window"]))


# ---------------------------------------------------------------------------------------------------- planted in tables


class Ride(NamedTuple):
    """A payload that has its key in it."""

    station: str
    km: float


class Kilometers(Aggregate[Ride, float]):
    """A sum that is planted a difference in one window of one key."""

    name, version = "test.kilometers", "1"
    is_time_sensitive = True

    def __init__(self, station: str = "", start: int = -1) -> None:
        self.station = station
        self.start = start

    def compute_result(self, events: Sequence[Event[Ride]], window: Window) -> float:
        kilometers = sum(event.payload.km for event in events)
        is_planted = events[0].payload.station == self.station and window.start == self.start
        return kilometers + 0.5 * is_planted


def rides(random: Random, count: int = 60) -> pa.Table:
    rows = []
    for _ in range(count):
        leaves = FIRST + timedelta(minutes=random.randrange(600))
        rows.append({"station": random.choice(["north", "south", "west"]), "leaves": leaves, "km": random.random()})
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("emit", ["final", "eager"])
@pytest.mark.parametrize("window", [tumbling("1 hour"), hopping("2 hours", "30 minutes"), session("20 minutes")])
def test_a_planted_difference_is_found_and_only_it(window: Any, emit: str) -> None:
    random = Random(f"{window} {emit}")
    windows = events(rides(random), key="station", at="leaves").window(window, emit=emit)
    query = windows.aggregate(km=module(Kilometers, "station", "km"), n=module(Total, "1"))
    results = query.results().to_pylist()
    planted = random.choice(results)
    start = int((planted["window"]["start"] - EPOCH) / timedelta(microseconds=1))
    result = backtest(query, {"test.kilometers": Kilometers(planted["station"], start)}, fail_if="new > old")
    (difference,) = result.differences.to_pylist()
    # A session may have begun with the same time before it grew, so what stands in the end is asked for.
    assert result.differing == result.failing.num_rows == 1
    assert (difference["key"], difference["window"]["start"]) == (planted["station"], planted["window"]["start"])
    assert difference["difference"] == pytest.approx(0.5)
    assert result.notes == ("both versions are called test.kilometers 1",)


def test_several_key_columns_are_one_key() -> None:
    table = rides(Random(1)).append_column("line", pa.array([1, 2] * 30))
    query = (
        events(table, key=["station", "line"], at="leaves").window(tumbling("1 day")).aggregate(km=module(Sum1, "km"))
    )
    result = backtest(query, {"test.sum": Sum2})
    assert result.differing == 6
    assert {next(iter(row["key"])) for row in result.differences.to_pylist()} == {"station"}
    keyless = events(table, at="leaves").window(tumbling("1 day")).aggregate(km=module(Sum1, "km"))
    (row,) = backtest(keyless, {"test.sum": Sum2}).differences.to_pylist()
    assert row["key"] is None


class Sum1(Aggregate[float, float]):
    name, version = "test.sum", "1"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads)


class Sum2(Sum1):
    name, version = "test.sum", "2"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads) + 1


# -------------------------------------------------------------------------------------------------- what is not a match


def script_query(folder: Path, *modules: Any, script: Script | None = None, **options: Any) -> Recording:
    """Record a query over a short stream."""
    stream = script or Script().point(1, 2, 5, key="a").point(2, 3, 7, key="b").batch().point(3, 14, 1, key="a").close()
    options = {"lifetimes": "points"} | options
    _, recording = recorded(Scenario(Query(tumbling(10), modules, **options), stream, CALM), "general", folder)
    return recording


class FloatTotal(Aggregate[int, float]):
    name, version = "test.float_total", "1"

    def compute_result(self, payloads: Sequence[int]) -> float:
        return float(sum(payloads))


def test_types_that_differ_are_said_and_numbers_compared(tmp_path: Path) -> None:
    result = backtest(script_query(tmp_path / "r", Total()), {"test.total": FloatTotal})
    assert result.differing == 0
    assert result.notes == ("result was int64, and is double: they are compared as numbers",)


class Spelled(Aggregate[int, str]):
    name, version = "test.spelled", "1"

    def compute_result(self, payloads: Sequence[int]) -> str:
        return str(sum(payloads) + (5 in payloads))


def test_a_number_and_a_text_are_compared_as_text(tmp_path: Path) -> None:
    result = backtest(script_query(tmp_path / "r", Total()), {"test.total": Spelled})
    assert [(row["old"], row["new"], row["difference"]) for row in result.differences.to_pylist()] == [("5", "6", None)]
    assert result.columns[0].distribution is None
    assert "compared as text" in result.notes[0]


class Picky(Total):
    version = "3"

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads:
            raise ValueError("an unlucky number")
        return sum(payloads)


def test_a_module_that_fails_is_said_by_its_version(tmp_path: Path) -> None:
    recording = script_query(tmp_path / "r", Total())
    with pytest.raises(ModuleFailedError, match=r"^the new version: test.total 3 failed in .*unlucky(.|\n)*key: .*'b'"):
        backtest(recording, {"test.total": Picky})
    old = recording.with_modules({"test.total": Picky})
    with pytest.raises(ModuleFailedError, match=r"^the old version: test.total 3"):
        backtest(Recording(old.path, modules=[Picky]), {"test.total": Total})
    query = events(rides(Random(2)), key="station", at="leaves").window(tumbling("1 day"))
    with pytest.raises(ModuleFailedError, match=r"^the old version: test.broken 1"):
        backtest(query.aggregate(n=module(Broken, "km")), {"test.broken": Sum1})


class Broken(Aggregate[float, float]):
    name, version = "test.broken", "1"

    def compute_result(self, payloads: Sequence[float]) -> float:
        raise ValueError("always")


def test_a_micro_batch_that_failed_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    stream = Script().point(1, 2, 5).punctuate(10).batch().point(2, 12, 7).punctuate(20).close()
    query = Query(tumbling(10), (Picky(),), lifetimes="points")
    run = RecordedRun(Scenario(query, stream, CALM), "general", tmp_path / "r")
    first, second, *_ = arrivals(Scenario(query, stream, CALM))
    run.process(first)
    with pytest.raises(ModuleFailedError):
        run.process(second)
    recording = Recording(tmp_path / "r", modules=[Picky()])
    assert recording.unfinished is not None
    result = backtest(recording, {"test.total": Total})
    assert result.differing == 0
    assert "the micro-batch that was not committed at the end of the recording is not compared" in result.notes


def test_a_recording_without_rows_has_no_differences(tmp_path: Path) -> None:
    query = Query(tumbling(10), (Total(),), lifetimes="points")
    RecordedRun(Scenario(query, Script().close(), CALM), "general", tmp_path / "r")
    result = backtest(Recording(tmp_path / "r", modules=[Total]), {"test.total": OddTotal}, fail_if="true")
    assert (result.rows, result.differing, result.failing.num_rows) == (0, 0, 0)
    assert result.notes == ("the recording has no rows",)


def test_modules_that_the_query_does_not_run_are_refused(tmp_path: Path) -> None:
    recording = script_query(tmp_path / "r", Total(), FloatTotal())
    with pytest.raises(RecordingError, match=r"runs no module 'test.totla'\n  it runs test.total, test.float_total"):
        backtest(recording, {"test.totla": OddTotal})
    with pytest.raises(RecordingError, match="no module is replaced"):
        backtest(recording, {})
    with pytest.raises(RecordingError, match=r"cannot take the place of test.total 1"):
        backtest(recording, {"test.total": Numbers})
    with pytest.raises(RecordingError, match=r"the new version cannot run in the recorded query: (.|\n)*str"):
        backtest(recording, {"test.total": OfText})
    with pytest.raises(RecordingError, match="3 is no module"):
        backtest(recording, {"test.total": 3})  # type: ignore[dict-item]  # it is refused


class OfText(Aggregate[str, int]):
    name, version = "test.of_text", "1"

    def compute_result(self, payloads: Sequence[str]) -> int:
        return len(payloads)


def test_a_query_of_a_chain_is_run_by_itself(tmp_path: Path) -> None:
    stream = Script()
    for number in range(20):
        stream = stream.point(number, 3 * number, number, key="ab"[number % 2])
        stream = stream.batch().punctuate(3 * number) if number % 4 == 3 else stream
    first = Query(tumbling(10), (Total(),), lifetimes="points")
    second = Reading(tumbling(30), (Spelled(),), lifetimes="intervals", sources=((),) * 3)
    _, recording = chained(Scenario(first, stream.close(), CALM), second, tmp_path / "r", is_regrouped=False)
    with pytest.raises(RecordingError, match=rf"it runs test.spelled\n(.|\n)*of its own: {tmp_path / 'r'}"):
        backtest(recording, {"test.total": OddTotal})
    assert backtest(recording, {"test.spelled": Spelled}).differing == 0
    assert backtest(recording.before[0], {"test.total": Total}).differing == 0
    assert backtest(recording.before[0], {"test.total": OddTotal}).differing > 0


def test_a_condition_is_refused_before_anything_runs(tmp_path: Path) -> None:
    recording = script_query(tmp_path / "r", Total())
    with pytest.raises(QueryError, match=r"'nwe > 1' cannot be evaluated for result: .*nwe(.|\n)*over key, window"):
        backtest(recording, {"test.total": Picky}, fail_if="nwe > 1")  # Picky would fail
    for unsafe in ("old IN (SELECT content FROM read_text('/etc/hostname'))", "1) OR (SELECT 1 FROM recording"):
        with pytest.raises(QueryError, match="cannot be evaluated"):
            backtest(recording, {"test.total": OddTotal}, fail_if=unsafe)
    first = "key = 'a' AND \"window\".start < 10 AND kind = 'changed'"
    result = backtest(recording, {"test.total": Spelled}, fail_if=first)
    assert [row["new"] for row in result.failing.to_pylist()] == ["6"]
    result = backtest(recording, {"test.total": Spelled}, fail_if="key = 'b'")
    assert (result.differing, result.failing.num_rows) == (1, 0)


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
    version = "2"

    def compute_result(self, payloads: Sequence[int]) -> list[Numbered]:
        return [Numbered(number, 0) for number in sorted(payloads) if number > 1]


def test_a_row_that_an_operator_leaves_out_is_one_difference(tmp_path: Path) -> None:
    stream = Script().point(1, 2, 1).point(2, 3, 2).point(3, 4, 3).close()
    result = backtest(script_query(tmp_path / "r", Numbers(), script=stream), {"test.numbers": LargeNumbers})
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
    scenario = Scenario(query, stream.close(), CALM)
    run = RecordedRun(scenario, "general", tmp_path / "first")
    first, *later = list(arrivals(scenario))
    run.process(first)
    second = RecordedRun(scenario, "general", tmp_path / "second")
    second.cells = run.cells
    second._number = run._number
    second.start()
    for arrival in later:
        second.process(arrival)
    recording = Recording(tmp_path / "second", modules=program_modules(query.evaluators["general"]))
    assert recording.runs[-1].cells_file is not None
    result = backtest(recording, {"test.total": OddTotal})
    assert any("or before are not compared" in note for note in result.notes)
    starts = {row["window"]["start"] for row in result.differences.to_pylist()}
    assert starts
    assert min(starts) >= 10


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
    result = backtest(query, {"test.sum": MergedSum}, fail_if="abs(new - old) > 1e-9")
    assert (result.old.evaluator, result.new.evaluator) == ("grouped", "sliced")
    assert result.old.results == result.new.results
    assert result.failing.num_rows == 0
    result = backtest(query, {"test.sum": SumOfEvents}, fail_if="abs(new - old) > 1e-9")
    assert result.failing.num_rows == 0
    assert result.notes == ("the old version runs with clip='none', and the new one with clip='full'",)


def test_a_few_lines_say_what_was_compared(tmp_path: Path) -> None:
    result = backtest(script_query(tmp_path / "r", Total()), {"test.total": Spelled})
    assert str(result).splitlines()[:4] == [
        "test.total 1 (old) and test.spelled 1 (new) over 4 rows",
        "3 results (old) and 3 (new), of which 1 differs",
        "compared: result by key, window, as results are in the end",
        "result: 1 changed, 0 only old, 0 only new",
    ]
    assert result.old.processor_seconds > 0
    assert result.old.state_bytes > 0
