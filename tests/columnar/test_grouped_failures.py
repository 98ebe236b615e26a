"""A module that fails over columns of rows is told of as the general evaluator tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    Module,
    Operator,
    TimestampPolicy,
    Window,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import MuntinError
from muntin.testing import Script
from muntin.windows import WindowSpecification
from tests.scenarios.known import Arrival
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps, Run


class Fails(Aggregate[int, int]):
    name, version = "test.fails", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return 1 // min(payloads)


class FailsToAdd(IncrementalAggregate[int, int, int]):
    name, version = "test.fails_to_add", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(1 // payload for payload in payloads)

    def compute_result(self, state: int) -> int:
        return state


class Lies(Aggregate[int, int]):
    name, version = "test.lies", "1"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return "none" if 0 in payloads else 1  # type: ignore[return-value]


class Early(Operator[int, int]):
    name, version = "test.early", "1"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        before = any(event.payload == 0 for event in events)
        return [Event(window.start - before, window.end, 1)]


def failure(evaluator: str, module: Module, window: WindowSpecification, timestamps: TimestampPolicy) -> str:
    """Run a stream whose second key brings a zero.

    0         10        20
    a [1)  [2)
    b            [0)
    """
    script = Script().point(1, 3, 1, key="a").point(2, 6, 2, key="a").point(3, 12, 0, key="b").close()
    query = Query(window, (module,), timestamps=timestamps, lifetimes="points")
    run = Run(query, query.plan(evaluator), Mishaps(crashes=0))
    with pytest.raises(MuntinError) as caught:  # noqa: PT012  # which batch fails is part of what is compared
        for batch in script.batches():
            run.take(Arrival((batch,)))
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("window", [tumbling(10), session(2), snapshot()], ids=str)
@pytest.mark.parametrize("module", [Fails(), FailsToAdd(), Lies(), Early()], ids=lambda module: module.name)
def test_a_failure_has_the_same_key_window_method_and_words(module: Module, window: WindowSpecification) -> None:
    timestamps = TimestampPolicy.UNCHANGED if module.is_time_sensitive else TimestampPolicy.ALIGN
    said = failure("grouped", module, window, timestamps)
    assert said == failure("general", module, window, timestamps)
    assert "'b'" in said
    assert ("[10, 20)" if window == tumbling(10) else "[12, 1") in said
