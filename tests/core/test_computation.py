"""Calling modules: what they see, which lifetimes their output gets, and what happens when they fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from muntin import (
    INFINITY,
    Axis,
    ClipPolicy,
    Event,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    tumbling,
)
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError
from muntin.testing import reference
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Timestamper
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from tests.core.build import Lengths, Members, RunningTotal, first_value, query

W = Window(10, 20)


def computation(module: Any, clip: ClipPolicy = ClipPolicy.NONE) -> ModuleComputation:
    return ModuleComputation(Binding(module, first_value), clip)


@pytest.mark.parametrize("clip", ClipPolicy)
@pytest.mark.parametrize("lifetime", [(5, 25), (5, 15), (15, 25), (12, 13), (2, 4), (21, 30), (15, INFINITY), (5, 10)])
def test_a_module_sees_the_lifetime_the_reference_shows(clip: ClipPolicy, lifetime: tuple[int, int]) -> None:
    """
                  0    5    10   15   20   25   30
    window                  [---------)
    lifetimes          [-------------------)         and others: inside, across, and wholly outside by reach or by count
    """
    shown = reference.clip(Event(*lifetime, "p"), W, clip)
    assert computation(Lengths(), clip).lifetime(*lifetime, W) == (shown.start, shown.end)


def test_time_insensitive_modules_see_payloads_and_others_see_events() -> None:
    event = StoredEvent("e", 5, 25, ("x", 2), 5, 25)
    assert computation(Members()).see([event], W) == ["x"]
    assert computation(Lengths(), ClipPolicy.FULL).see([event], W) == [Event(10, 20, "x")]


def test_a_change_that_a_module_cannot_see_looks_alike() -> None:
    before, after = StoredEvent("e", 5, 25, ("x",), 5, 25), StoredEvent("e", 5, 30, ("x",), 5, 30)
    assert computation(Members()).looks_alike(before, after, W)
    assert computation(Lengths(), ClipPolicy.RIGHT).looks_alike(before, after, W)
    assert not computation(Lengths(), ClipPolicy.LEFT).looks_alike(before, after, W)


def test_so_does_any_to_one_that_reads_no_times() -> None:
    class Stamps(Lengths):
        name = "test.stamps"
        reads_times = False

    before, after = StoredEvent("a", 3, 30, (0,), 3, 30), StoredEvent("a", 3, 40, (0,), 3, 40)
    assert computation(Stamps()).looks_alike(before, after, W)
    assert not computation(Lengths()).looks_alike(before, after, W)


class Rows(Operator[Any, Any]):
    """Returns what it was made with."""

    name, version = "test.rows", "3.0.0"
    is_time_sensitive = True

    def __init__(self, *rows: Any) -> None:
        self._rows = rows

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> Iterable[Any]:
        return iter(self._rows)


class RowsAnywhere(Rows):
    contract = OutputContract.UNRESTRICTED


def stamped(policy: TimestampPolicy, *rows: Any, window: Window = W, made: type[Rows] = Rows) -> list[tuple[Any, ...]]:
    found = Timestamper(query(tumbling(10), made(), timestamps=policy)).rows("key", window, [list(rows)])
    return [tuple(row) for row in found]


def test_lifetimes_follow_the_timestamp_policy() -> None:
    """
              10   15   20   25
    window    [---------)
    row            [--------)       15 to 24
    bare                            has no lifetime of its own
    """
    row = Event(15, 24, "r")
    assert stamped(TimestampPolicy.ALIGN, row, "bare") == [(10, 20, "r"), (10, 20, "bare")]
    assert stamped(TimestampPolicy.UNCHANGED, row, "bare") == [(15, 24, "r"), (10, 20, "bare")]
    assert stamped(TimestampPolicy.CLIP, row, "bare") == [(15, 20, "r"), (10, 20, "bare")]
    assert stamped(TimestampPolicy.POINT_AT_END, row, "bare") == [(20, 21, "r"), (20, 21, "bare")]


def test_a_row_wholly_outside_its_window_has_nothing_left_when_cut_to_it() -> None:
    assert stamped(TimestampPolicy.CLIP, Event(2, 10, "before"), Event(20, 22, "after"), Event(8, 11, "across")) == [
        (10, 11, "across")
    ]


def test_a_window_without_an_end_has_no_point_at_its_end() -> None:
    assert stamped(TimestampPolicy.POINT_AT_END, "bare", window=Window(10, INFINITY)) == []


def test_an_output_before_its_window_breaks_the_contract() -> None:
    told = r"test.rows 3.0.0 returned an event that starts at 9, before its window \[10, 20\)\n  key: 'key'\n"
    with pytest.raises(ModuleContractError, match=told):
        stamped(TimestampPolicy.UNCHANGED, Event(9, 12, "r"))
    assert stamped(TimestampPolicy.UNCHANGED, Event(9, 12, "r"), made=RowsAnywhere) == [(9, 12, "r")]


class Failing(RunningTotal):
    name, version = "test.failing", "4.5.6"

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, self._fail)

    def _fail(self, *_: Any) -> Any:
        raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize("method", ["create_state", "add_events", "remove_events", "compute_result"])
def test_a_failure_names_module_version_key_window_and_method(method: str) -> None:
    failing = computation(Failing(method))
    event = StoredEvent("e", 5, 25, (1,), 5, 25)

    def call() -> None:
        failing.remove(failing.build([event], ("k",), W), [event], ("k",), W)
        failing.result_of_state(0, ("k",), W)

    with pytest.raises(ModuleFailedError) as caught:
        call()
    error = caught.value
    assert (error.module, error.version, error.key, error.window, error.method) == (
        "test.failing",
        "4.5.6",
        ("k",),
        W,
        method,
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    error.say_window(Axis.TICKS.spell_interval)
    assert f"\n  window: [{W.start}, {W.end})\n" in str(error)


def test_a_failure_while_rows_are_made_lazily_is_a_failure_of_the_module() -> None:
    class Lazy(Rows):
        def compute_result(self, events: Sequence[Event[Any]], window: Window) -> Iterable[Any]:
            yield 1
            yield Event(7, 3, "reversed")

    with pytest.raises(ModuleFailedError, match="compute_result: StreamError: an event must end after it starts"):
        computation(Lazy()).result_of_members([], ("k",), W)


def test_a_time_bound_query_must_emit_eagerly() -> None:
    with pytest.raises(PolicyError, match="emits results eagerly, not with emit='final'"):
        query(tumbling(10), timestamps=TimestampPolicy.TIME_BOUND)
    with pytest.raises(PolicyError, match="use emit='eager'"):
        query(tumbling(10), timestamps=TimestampPolicy.CLIP, contract=OutputContract.TIME_BOUND)
