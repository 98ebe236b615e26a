"""Scripts and the engine refuse the same queries, before they run and while they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from random import Random
from typing import Any

import pytest

from muntin import (
    Aggregate,
    Axis,
    ClipPolicy,
    EmitPolicy,
    Event,
    Module,
    Operator,
    OutputContract,
    StreamOperator,
    TimestampPolicy,
    Window,
    count_by_start,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import MuntinError
from muntin.rows import batch, last
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.plan import NamedColumn
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.testing.stepwise_run import Mishap, run_steps
from tests.engine.plan.plans import input_of, plan_of, planned
from tests.modules.members import Count
from tests.modules.stream_operators import Silence

pytestmark = pytest.mark.usefixtures("all_states_small")

QUERIES = 1_000


class Pairs(Operator[int, int]):
    """Each event with the next, over both; it needs to see where they started."""

    name, version = "test.pairs", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int] | int]:
        ordered = sorted(events, key=lambda event: (event.start, event.end, event.payload))
        for before, after in pairwise(ordered):
            yield Event(before.start, max(before.start, after.start) + 1, after.payload)


class PairsAnywhere(Pairs):
    """The same, and says so."""

    name = "test.pairs_anywhere"
    contract = OutputContract.UNRESTRICTED


class Coverage(Aggregate[int, int]):
    """The ticks that events cover of a window."""

    name, version = "test.coverage", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> int:
        return len({tick for event in events for tick in range(event.start, event.end)})


class Echoes(StreamOperator[int, list[int], int]):
    """Each payload, some ticks later; and asks for wake-ups."""

    name, version = "test.echoes", "1.0.0"

    def __init__(self, later: int = 0, wakes: Any = None) -> None:
        self.later = later
        self.wakes = wakes

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        return [Event(time + self.later, time + self.later + 2, payload)]

    def next_time(self, state: list[int]) -> Any:
        return self.wakes


MODULES: tuple[tuple[type[Module], dict[str, Any]], ...] = (
    (Pairs, {}),
    (Count, {}),
    (Pairs, {}),
    (PairsAnywhere, {}),
    (Coverage, {}),
    (Silence, {}),
    *((Echoes, {"later": later, "wakes": wakes}) for later, wakes in ((0, None), (3, 7), (-1, None), (0, 2.5))),
)
WINDOWS: tuple[WindowSpecification, ...] = (
    tumbling(10),
    hopping(10, 4),
    tumbling(2**61),
    snapshot(),
    session(5),
    count_by_start(2),
    last(3),
    batch(2),
    Unwindowed(),
    Unwindowed(),
)


class Drawn:
    """A query of a few rows of one key; the plainest policies are drawn most, or nearly all would be refused."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.modules = random.sample(MODULES, random.choice([1, 1, 1, 2]))
        self.window = random.choice(WINDOWS)
        self.clip = random.choice([ClipPolicy.NONE] * 4 + [*ClipPolicy])
        self.timestamps = random.choice([TimestampPolicy.ALIGN, TimestampPolicy.UNCHANGED] * 3 + [*TimestampPolicy])
        self.age = random.choice([None] * 8 + [40, 0])
        self.are_points = random.random() < 0.6
        self.emit = EmitPolicy.EAGER if self.timestamps is TimestampPolicy.TIME_BOUND else EmitPolicy.FINAL
        self.script = Script()
        for name in "abcd":
            start = random.randrange(20)
            end = start + 1 if self.are_points else start + random.randrange(2, 15)
            self.script = self.script.insert(name, start, end, random.randrange(9))

    def in_a_script(self) -> WindowedQuery:
        computations = [Computation(cls(**parameters)) for cls, parameters in self.modules]
        query = WindowedQuery(
            self.window, computations, self.clip, self.timestamps, forget_keys_after=self.age, event_ends_move=False
        )
        self.script.close().run(query)
        return query

    def on_the_engine(self) -> None:
        """Plan it as for a stream, and if it is accepted run_steps the rows of the script."""
        is_followed = isinstance(self.window, Unwindowed) or self.window.name in ("last", "batch")
        ends = {} if self.are_points else {"end": NamedColumn("end", "bigint")}
        plan_of(
            *(planned(cls, f"m{place}", **parameters) for place, (cls, parameters) in enumerate(self.modules)),
            columns={"start": NamedColumn("start", "bigint"), **ends},
            input=input_of(order=0 if is_followed else None),
            axis=Axis.TICKS,
            window=self.window,
            clip=self.clip,
            timestamps=self.timestamps,
            emit=self.emit,
            forget_keys_after=self.age,
        )

    def followed(self, query: WindowedQuery) -> None:
        tested = QueryUnderTest(self.script.close(), query, self.emit)
        list(chain(*run_steps(tested, tested.evaluators[0], Mishap.NOTHING)))


def refusal(call: Any, *arguments: Any) -> str | None:
    """Return the error of a call, with the line that says why; None if it raises none."""
    try:
        call(*arguments)
    except MuntinError as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return None


def test_scripts_and_the_engine_refuse_the_same_queries() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(QUERIES):
        drawn = Drawn(seed)
        script = refusal(drawn.in_a_script)
        engine = refusal(drawn.on_the_engine)
        if engine is None and script is not None and script.startswith("ModuleContractError"):
            continue  # which the next test looks at
        assert (script is None) == (engine is None), f"seed {seed}: {script}, and {engine}"
        outcomes["in other words"] += script != engine  # of several faults, each names the one that it finds first
        outcomes[(engine or "accepted").partition(":")[0]] += 1
    assert outcomes["in other words"] < 100
    assert min(outcomes["accepted"], outcomes["PolicyError"], outcomes["QueryError"]) > 100, outcomes


def test_scripts_and_the_engine_refuse_the_same_results() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(QUERIES):
        drawn = Drawn(seed)
        if refusal(drawn.on_the_engine) is None:
            script = refusal(drawn.in_a_script)
            computations = [Computation(cls(**parameters)) for cls, parameters in drawn.modules]
            query = WindowedQuery(drawn.window, computations, drawn.clip, drawn.timestamps, forget_keys_after=drawn.age)
            assert script == refusal(drawn.followed, query), f"seed {seed}"
            told = ("before its window", "before its cause", "from next_time")
            outcomes[next((words for words in told if script and words in script), script or "accepted")] += 1
    assert set(outcomes) == {"accepted", "before its window", "before its cause", "from next_time"}
    assert min(outcomes.values()) > 2, outcomes


def test_one_that_was_an_interval_once_is_no_point() -> None:
    """
           1    5
    + a    [----)
    ~ a    [)
    """
    script = Script().insert("a", 1, 5, 3).revise("a", 2).close()
    with pytest.raises(MuntinError, match="follows events at points in time"):
        script.run(WindowedQuery.unwindowed(Echoes()))
