"""The laws of operators that follow a stream: honest ones keep them, and each law has a module that breaks it alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from muntin import Event, StreamOperator
from muntin.errors import ModuleDefinitionError
from muntin.testing import LawError, StreamOperatorLaws, WindowedQuery, evaluate, laws_for, laws_of
from tests.sdk.stream_operators import Gaps, Level, Newest, Overdue, Silence, Ticker

LAWS = list(laws_of(StreamOperatorLaws))


class Untyped(Newest):
    name = "hostile.untyped"

    def on_event(self, state: list[int], payload: int, time: int) -> Any:
        return [f"{payload}"]


class Early(Newest):
    name = "hostile.early"

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[Event[int]]:
        yield Event.point(time - 1, payload)


class Mine:
    def __init__(self) -> None:
        self.seen = 0


class Unplain(StreamOperator[int, Any, int]):
    name, version = "hostile.unplain", "1"

    def create_state(self) -> Any:
        return {}

    def on_event(self, state: Any, payload: int, time: int) -> None:
        state["own"] = Mine()


class Remembers(Newest):
    name = "hostile.remembers"

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[int]:
        self.seen += 1
        return [self.seen]


class Counts(StreamOperator[int, list[int], int]):
    name, version = "hostile.counts", "1"

    def create_state(self) -> list[int]:
        return [0]

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[int]:
        return [*state]

    def next_time(self, state: list[int]) -> None:
        state[0] += 1


class NotEmpty(Newest):
    name = "hostile.not_empty"

    def is_empty(self, state: list[int]) -> bool:
        return True


class Writes(StreamOperator[list[int], list[int], int]):
    name, version = "hostile.writes", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: list[int], time: int) -> None:
        payload.append(1)


class Misspelt(Newest):
    name = "hostile.misspelt"

    def on_timer(self, state: list[int], time: int) -> None: ...


class Renews(StreamOperator[int, list[int], int]):
    name, version = "hostile.renews", "1"

    def create_state(self) -> list[int]:
        return []

    def on_event(self, state: list[int], payload: int, time: int) -> None:
        state[:] = [time]

    def on_time(self, state: list[int], time: int) -> None:
        state[:] = [time]

    def next_time(self, state: list[int]) -> int:
        return state[0] + 1


HOSTILE: dict[str, StreamOperator[Any, Any, Any]] = {
    "test_definition_is_complete": Misspelt(),
    "test_rows_have_declared_types": Untyped(),
    "test_no_row_starts_before_its_cause": Early(),
    "test_the_state_is_plain_data": Unplain(),
    "test_nothing_else_is_remembered": Remembers(),
    "test_questions_change_nothing": Counts(),
    "test_an_empty_state_is_as_good_as_a_new_one": NotEmpty(),
    "test_events_are_read_only": Writes(),
    "test_wake_ups_do_not_come_at_each_tick": Renews(),
}


def attempt(law: str, module: StreamOperator[Any, Any, Any]) -> None:
    laws: Any = type("TestOperator", (StreamOperatorLaws,), {"module": module})()
    getattr(laws, law)()


def test_each_law_has_a_module_that_breaks_it() -> None:
    assert set(LAWS) == set(HOSTILE)
    assert laws_for(Newest()) is StreamOperatorLaws


@pytest.mark.parametrize("law", LAWS)
def test_an_honest_operator_keeps_all_laws(law: str) -> None:
    for module in (Silence(4), Ticker(5), Silence(1), Overdue(4)):
        attempt(law, module)


@pytest.mark.parametrize("law", LAWS)
def test_one_that_breaks_a_law_is_told_what_to_do(law: str) -> None:
    with pytest.raises(LawError) as broken:
        attempt(law, HOSTILE[law])
    assert broken.value.law == law.removeprefix("test_").replace("_", " ")
    assert "to do: " in str(broken.value)


def test_one_that_is_meant_to_be_woken_at_each_tick_may_say_so() -> None:
    laws: Any = type("TestRenews", (StreamOperatorLaws,), {"module": Renews(), "wakes_at_each_tick": True})()
    laws.test_wake_ups_do_not_come_at_each_tick()


class Keeps(Level):
    name = "hostile.keeps"

    def on_end(self, state: list[int], payload: int, time: int) -> Iterable[list[int]]:
        yield [*state, time]

    def is_empty(self, state: list[int]) -> bool:
        return len(state) == 2


def test_one_that_is_told_of_ends_is_tried_with_them() -> None:
    with pytest.raises(LawError, match="say that a state is empty only if it is as good as a new one"):
        attempt("test_an_empty_state_is_as_good_as_a_new_one", Keeps())

    class Ends(Newest):
        name = "hostile.ends"

        def on_end(self, state: list[int], payload: int, time: int) -> None: ...

    with pytest.raises(LawError, match="it defines on_end, which nothing calls"):
        attempt("test_definition_is_complete", Ends())


def test_a_law_of_wake_ups_does_not_apply_to_one_that_asks_for_none() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"test.newest asks for no wake-ups"):
        attempt("test_wake_ups_do_not_come_at_each_tick", Newest())


def test_a_method_that_does_not_take_what_it_is_called_with_is_refused() -> None:
    class Short(Newest):
        name = "hostile.short"

        def on_time(self, state: list[int]) -> None: ...  # type: ignore[override]

    with pytest.raises(ModuleDefinitionError, match=r"on_time\(state\) is called with \(state, time\)"):
        Short.check_definition()


# 0    5    10   15   20
# a  b         c
# silent for 4     !     !
def test_wake_ups_come_where_the_state_asks_for_them() -> None:
    events = [Event.point(0, 1), Event.point(3, 1), Event.point(13, 1)]
    found = evaluate(WindowedQuery.unwindowed(Silence(4)), events, complete_to=17)
    assert [(row.start, row.end, row.value) for row in found] == [(7, 8, "silent since 3"), (17, 18, "silent since 13")]
    assert evaluate(WindowedQuery.unwindowed(Silence(4)), events, complete_to=16) == found[:1]


# An event at the very time of the wake-up starts after it: four ticks [3, 7) were silent.
def test_a_wake_up_comes_before_the_events_of_its_time() -> None:
    events = [Event.point(3, 1), Event.point(7, 1)]
    found = evaluate(WindowedQuery.unwindowed(Silence(4)), events, complete_to=8)
    assert [row.start for row in found] == [7]


def test_a_stream_that_ends_wakes_up_to_its_horizon_and_once_more() -> None:
    found = evaluate(WindowedQuery.unwindowed(Ticker(5)), [Event.point(1, 7), Event.point(12, 8)])
    assert [(row.start, row.value) for row in found] == [(5, 7), (10, 7), (15, 8)]
    later = evaluate(WindowedQuery.unwindowed(Ticker(5)), [Event.point(1, 7)], horizon=11)
    assert [row.start for row in later] == [5, 10, 15]


def test_a_time_that_is_not_after_the_last_call_is_no_wake_up() -> None:
    class Again(Newest):
        name = "test.again"

        def next_time(self, state: list[int]) -> int:
            return 5

        def on_time(self, state: list[int], time: int) -> Iterable[int]:
            return [-time]

    events = [Event.point(at, at) for at in (3, 5, 9)]
    found = evaluate(WindowedQuery.unwindowed(Again()), events)
    assert [(row.start, row.value) for row in found] == [(3, 3), (5, -5), (5, 5), (9, 9)]


def test_a_row_keeps_the_lifetime_that_it_is_returned_with() -> None:
    found = evaluate(WindowedQuery.unwindowed(Gaps(3)), [Event.point(at, at) for at in (0, 2, 9, 20)])
    assert [(row.start, row.end, row.value) for row in found] == [(9, 16, 7), (20, 31, 11)]
