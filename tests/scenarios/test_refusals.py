"""Scripts and the engine refuse the same queries, before they run and while they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
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
        for event, next_event in pairwise(ordered):
            yield Event(event.start, max(event.start, next_event.start) + 1, next_event.payload)


class PairsAnywhere(Pairs):
    """Pairs, as an operator that declares that its results may lie anywhere."""

    name = "test.pairs_anywhere"
    contract = OutputContract.UNRESTRICTED


class Coverage(Aggregate[int, int]):
    """The ticks that events cover of a window."""

    name, version = "test.coverage", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> int:
        covered_ticks = set[int]()
        for event in events:
            covered_ticks.update(range(event.start, event.end))
        return len(covered_ticks)


class Echoes(StreamOperator[int, list[int], int]):
    """Each payload, `later` ticks after its event; `wakes` is what `next_time` returns."""

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


# each with its parameters
MODULES: tuple[tuple[type[Module], dict[str, Any]], ...] = (
    (Pairs, {}),
    (Count, {}),
    (Pairs, {}),
    (PairsAnywhere, {}),
    (Coverage, {}),
    (Silence, {}),
    (Echoes, {"later": 0, "wakes": None}),
    (Echoes, {"later": 3, "wakes": 7}),
    (Echoes, {"later": -1, "wakes": None}),
    (Echoes, {"later": 0, "wakes": 2.5}),
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


class RandomQuery:
    """A random query, and four rows of one key; the plainest policies are drawn most, or most would be refused."""

    def __init__(self, seed: int) -> None:
        """Draw the query of a seed."""
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

    def run_in_script(self) -> None:
        """Run the query over the rows in a script."""
        self.script.close().run(self.windowed_query(event_ends_move=False))

    def windowed_query(self, *, event_ends_move: bool = True) -> WindowedQuery:
        """Return the query as scripts run it."""
        computations = [Computation(cls(**parameters)) for cls, parameters in self.modules]
        return WindowedQuery(
            self.window,
            computations,
            self.clip,
            self.timestamps,
            forget_keys_after=self.age,
            event_ends_move=event_ends_move,
        )

    def plan_on_engine(self) -> None:
        """Plan the query as for a stream."""
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

    def run_on_engine(self) -> None:
        """Run the query over the rows by the first evaluator that can."""
        query = QueryUnderTest(self.script.close(), self.windowed_query(), self.emit)
        list(chain(*run_steps(query, query.evaluators[0], Mishap.NOTHING)))


def refusal(call: Callable[[], None]) -> str | None:
    """Return the type and the first line of the error of a call; None if it raises none."""
    try:
        call()
    except MuntinError as error:
        first_line, *_ = str(error).splitlines()
        return f"{type(error).__name__}: {first_line}"
    return None


def test_scripts_and_the_engine_refuse_the_same_queries() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(QUERIES):
        query = RandomQuery(seed)
        script_error = refusal(query.run_in_script)
        engine_error = refusal(query.plan_on_engine)
        if engine_error is None and script_error is not None and script_error.startswith("ModuleContractError"):
            continue  # results are compared by the next test
        assert (script_error is None) == (engine_error is None), f"seed {seed}: {script_error}, and {engine_error}"
        if script_error != engine_error:
            outcomes["in other words"] += 1  # of several faults, each names the one that it finds first
        if engine_error is None:
            outcomes["accepted"] += 1
        else:
            error_type, _, _ = engine_error.partition(":")
            outcomes[error_type] += 1
    assert outcomes["in other words"] < 100
    assert min(outcomes["accepted"], outcomes["PolicyError"], outcomes["QueryError"]) > 100, outcomes


RESULT_FAULTS = ("before its window", "before its cause", "from next_time")
"""Words of the errors about results of modules."""


def kind_of_refusal(error: str | None) -> str:
    """Return the words that tell a result's fault; the whole error if it is another one."""
    if error is None:
        return "accepted"
    for words in RESULT_FAULTS:
        if words in error:
            return words
    return error


def test_scripts_and_the_engine_refuse_the_same_results() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(QUERIES):
        query = RandomQuery(seed)
        if refusal(query.plan_on_engine) is None:
            script_error = refusal(query.run_in_script)
            assert script_error == refusal(query.run_on_engine), f"seed {seed}"
            outcomes[kind_of_refusal(script_error)] += 1
    assert set(outcomes) == {"accepted", *RESULT_FAULTS}
    assert min(outcomes.values()) > 2, outcomes


def test_an_operator_of_points_takes_no_event_that_was_an_interval_before_a_revision() -> None:
    """
           1    5
    + a    [----)
    ~ a    [)            is a point now
    """
    script = Script().insert("a", 1, 5, 3).revise("a", 2).close()
    with pytest.raises(MuntinError, match="follows events at points in time"):
        script.run(WindowedQuery.unwindowed(Echoes()))
